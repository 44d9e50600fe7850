module completions {

  def "nu-complete flux-operator color" [] {
    [ "auto" "always" "never" ]
  }

  # Install, configure, inspect and reconcile Flux on Kubernetes
  export extern flux-operator [
    --namespace(-n): string   # Namespace to work in [default: see below]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds
    --verbose(-v)             # Say more: once for steps, twice for requests
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    --version(-V)             # Print version
  ]

  def "nu-complete flux-operator completion shell" [] {
    [ "bash" "zsh" "fish" "powershell" "elvish" "nushell" ]
  }

  def "nu-complete flux-operator completion color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the completion script for a shell
  export extern "flux-operator completion" [
    --namespace(-n): string   # Namespace to work in [default: see below]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds
    --verbose(-v)             # Say more: once for steps, twice for requests
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator completion color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    shell: string@"nu-complete flux-operator completion shell" # Shell to print the script for
  ]

  def "nu-complete flux-operator generate color" [] {
    [ "auto" "always" "never" ]
  }

  # Write files that are derived from the code
  export extern "flux-operator generate" [
    --namespace(-n): string   # Namespace to work in [default: see below]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds
    --verbose(-v)             # Say more: once for steps, twice for requests
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator generate color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator generate man color" [] {
    [ "auto" "always" "never" ]
  }

  # Write one man page per command into a folder
  export extern "flux-operator generate man" [
    --namespace(-n): string   # Namespace to work in [default: see below]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds
    --verbose(-v)             # Say more: once for steps, twice for requests
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator generate man color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    directory: path
  ]

  def "nu-complete flux-operator generate completions color" [] {
    [ "auto" "always" "never" ]
  }

  # Write the completion scripts into a folder
  export extern "flux-operator generate completions" [
    --namespace(-n): string   # Namespace to work in [default: see below]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds
    --verbose(-v)             # Say more: once for steps, twice for requests
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator generate completions color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    directory: path
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator generate help" [
  ]

  # Write one man page per command into a folder
  export extern "flux-operator generate help man" [
  ]

  # Write the completion scripts into a folder
  export extern "flux-operator generate help completions" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator generate help help" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator help" [
  ]

  # Print the completion script for a shell
  export extern "flux-operator help completion" [
  ]

  # Write files that are derived from the code
  export extern "flux-operator help generate" [
  ]

  # Write one man page per command into a folder
  export extern "flux-operator help generate man" [
  ]

  # Write the completion scripts into a folder
  export extern "flux-operator help generate completions" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator help help" [
  ]

}

export use completions *
