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

  def "nu-complete flux-operator build color" [] {
    [ "auto" "always" "never" ]
  }

  # Build objects offline, exactly as a reconcile would apply them
  export extern "flux-operator build" [
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
    --color: string@"nu-complete flux-operator build color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator build instance output" [] {
    [ "yaml" "json" "name" "images" ]
  }

  def "nu-complete flux-operator build instance color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the objects of a FluxInstance, offline
  export extern "flux-operator build instance" [
    --filename(-f): string    # File with one FluxInstance among its documents; - for standard input
    --output(-o): string@"nu-complete flux-operator build instance output" # What to print: objects, their names, or the images they run
    --revision                # Print only the revision: version and digest of the objects
    --explain-patches         # Print what each patch of the spec matches and changes
    --strict                  # Fail on patches without effect and on images without digest
    --distribution: path      # Flux manifests to build from instead of the embedded ones
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
    --color: string@"nu-complete flux-operator build instance color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator build help" [
  ]

  # Print the objects of a FluxInstance, offline
  export extern "flux-operator build help instance" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator build help help" [
  ]

  def "nu-complete flux-operator create color" [] {
    [ "auto" "always" "never" ]
  }

  # Create manifests from flags
  export extern "flux-operator create" [
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
    --color: string@"nu-complete flux-operator create color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator create instance distribution_variant" [] {
    [ "upstream-alpine" "enterprise-alpine" "enterprise-distroless" "enterprise-distroless-fips" ]
  }

  def "nu-complete flux-operator create instance components" [] {
    [ "source-controller" "kustomize-controller" "helm-controller" "notification-controller" "image-reflector-controller" "image-automation-controller" "source-watcher" ]
  }

  def "nu-complete flux-operator create instance components_extra" [] {
    [ "source-controller" "kustomize-controller" "helm-controller" "notification-controller" "image-reflector-controller" "image-automation-controller" "source-watcher" ]
  }

  def "nu-complete flux-operator create instance cluster_type" [] {
    [ "kubernetes" "openshift" "aws" "azure" "gcp" ]
  }

  def "nu-complete flux-operator create instance cluster_size" [] {
    [ "small" "medium" "large" ]
  }

  def "nu-complete flux-operator create instance cluster_multitenant" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator create instance cluster_network_policy" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator create instance sharding_storage" [] {
    [ "ephemeral" "persistent" ]
  }

  def "nu-complete flux-operator create instance sync_kind" [] {
    [ "OCIRepository" "GitRepository" "Bucket" ]
  }

  def "nu-complete flux-operator create instance sync_provider" [] {
    [ "generic" "aws" "azure" "gcp" "github" ]
  }

  def "nu-complete flux-operator create instance output" [] {
    [ "yaml" "json" ]
  }

  def "nu-complete flux-operator create instance color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the manifest of a FluxInstance made from flags
  export extern "flux-operator create instance" [
    --distribution-version: string # Flux version, exact or a range
    --distribution-registry: string # Registry and path of the controller images
    --distribution-variant: string@"nu-complete flux-operator create instance distribution_variant" # Build of the images, when the registry is a mirror
    --distribution-artifact: string # OCI artifact with the distribution, as oci://host/path:tag
    --distribution-artifact-pull-secret: string # Secret to pull the artifact with
    --distribution-image-pull-secret: string # Secret that the controllers' pods pull their images with
    --components: string@"nu-complete flux-operator create instance components" # Controllers to install instead of the default four, separated by commas
    --components-extra: string@"nu-complete flux-operator create instance components_extra" # Controllers to install on top, separated by commas
    --cluster-type: string@"nu-complete flux-operator create instance cluster_type" # Kind of the cluster
    --cluster-size: string@"nu-complete flux-operator create instance cluster_size" # How much Flux has to do: tens, hundreds or a thousand applications
    --cluster-domain: string  # DNS domain of the cluster's services
    --cluster-multitenant: string@"nu-complete flux-operator create instance cluster_multitenant" # Lock tenants into their namespaces
    --cluster-network-policy: string@"nu-complete flux-operator create instance cluster_network_policy" # Close Flux's namespace to other namespaces; on by default
    --storage-class: string   # Storage class of a volume for source-controller
    --storage-size: string    # Size of the volume, such as 10Gi
    --shards: string          # Names of shards, separated by commas
    --sharding-key: string    # Label whose value names the shard
    --sharding-storage: string@"nu-complete flux-operator create instance sharding_storage" # Where shards of source-controller keep artifacts
    --sync-url: string        # Address of the repository, registry or bucket to apply
    --sync-kind: string@"nu-complete flux-operator create instance sync_kind" # Kind of the source [default: by the address]
    --sync-ref: string        # Git reference, tag or bucket [default: by the kind]
    --sync-path: string       # Folder with the manifests
    --sync-interval: string   # How often the source is checked
    --sync-pull-secret: string # Secret with the credentials for the source
    --sync-provider: string@"nu-complete flux-operator create instance sync_provider" # Whose identity to log in with instead of a secret
    --sync-name: string       # Name of the source and the Kustomization [default: the namespace]
    --output(-o): string@"nu-complete flux-operator create instance output" # Format of the output
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
    --color: string@"nu-complete flux-operator create instance color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator create help" [
  ]

  # Print the manifest of a FluxInstance made from flags
  export extern "flux-operator create help instance" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator create help help" [
  ]

  def "nu-complete flux-operator reconcile color" [] {
    [ "auto" "always" "never" ]
  }

  # Reconcile now
  export extern "flux-operator reconcile" [
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
    --color: string@"nu-complete flux-operator reconcile color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator reconcile instance wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator reconcile instance dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator reconcile instance progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator reconcile instance color" [] {
    [ "auto" "always" "never" ]
  }

  # Reconcile a FluxInstance now
  export extern "flux-operator reconcile instance" [
    --force                   # Also migrate all Flux resources to their latest API version
    --wait: string@"nu-complete flux-operator reconcile instance wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator reconcile instance dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator reconcile instance progress" # How to show progress, on standard error
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
    --color: string@"nu-complete flux-operator reconcile instance color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name?: string             # Name of the instance
  ]

  def "nu-complete flux-operator reconcile resource wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator reconcile resource dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator reconcile resource progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator reconcile resource color" [] {
    [ "auto" "always" "never" ]
  }

  # Reconcile Flux resources now
  export extern "flux-operator reconcile resource" [
    --force                   # Also ask for what the kind does only when forced
    --wait: string@"nu-complete flux-operator reconcile resource wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator reconcile resource dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator reconcile resource progress" # How to show progress, on standard error
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
    --color: string@"nu-complete flux-operator reconcile resource color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  def "nu-complete flux-operator reconcile all ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator reconcile all dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator reconcile all color" [] {
    [ "auto" "always" "never" ]
  }

  # Reconcile every object of a kind now
  export extern "flux-operator reconcile all" [
    --kind: string            # Kind of the objects: any case, plural or short name
    --ready-status: string@"nu-complete flux-operator reconcile all ready_status" # Only objects whose Ready condition has this status
    --all-namespaces(-A)      # Objects of all namespaces
    --selector(-l): string    # Only objects with these labels, as in kubectl
    --force                   # Also ask for what the kind does only when forced
    --dry-run: string@"nu-complete flux-operator reconcile all dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
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
    --color: string@"nu-complete flux-operator reconcile all color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator reconcile help" [
  ]

  # Reconcile a FluxInstance now
  export extern "flux-operator reconcile help instance" [
  ]

  # Reconcile Flux resources now
  export extern "flux-operator reconcile help resource" [
  ]

  # Reconcile every object of a kind now
  export extern "flux-operator reconcile help all" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator reconcile help help" [
  ]

  def "nu-complete flux-operator suspend color" [] {
    [ "auto" "always" "never" ]
  }

  # Suspend reconciliation
  export extern "flux-operator suspend" [
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
    --color: string@"nu-complete flux-operator suspend color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator suspend instance dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator suspend instance color" [] {
    [ "auto" "always" "never" ]
  }

  # Suspend the reconciliation of a FluxInstance
  export extern "flux-operator suspend instance" [
    --dry-run: string@"nu-complete flux-operator suspend instance dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
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
    --color: string@"nu-complete flux-operator suspend instance color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name?: string             # Name of the instance
  ]

  def "nu-complete flux-operator suspend resource dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator suspend resource color" [] {
    [ "auto" "always" "never" ]
  }

  # Suspend the reconciliation of Flux resources
  export extern "flux-operator suspend resource" [
    --dry-run: string@"nu-complete flux-operator suspend resource dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
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
    --color: string@"nu-complete flux-operator suspend resource color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator suspend help" [
  ]

  # Suspend the reconciliation of a FluxInstance
  export extern "flux-operator suspend help instance" [
  ]

  # Suspend the reconciliation of Flux resources
  export extern "flux-operator suspend help resource" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator suspend help help" [
  ]

  def "nu-complete flux-operator resume color" [] {
    [ "auto" "always" "never" ]
  }

  # Resume reconciliation
  export extern "flux-operator resume" [
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
    --color: string@"nu-complete flux-operator resume color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator resume instance wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator resume instance dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator resume instance progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator resume instance color" [] {
    [ "auto" "always" "never" ]
  }

  # Resume the reconciliation of a FluxInstance
  export extern "flux-operator resume instance" [
    --wait: string@"nu-complete flux-operator resume instance wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator resume instance dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator resume instance progress" # How to show progress, on standard error
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
    --color: string@"nu-complete flux-operator resume instance color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name?: string             # Name of the instance
  ]

  def "nu-complete flux-operator resume resource wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator resume resource dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator resume resource progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator resume resource color" [] {
    [ "auto" "always" "never" ]
  }

  # Resume the reconciliation of Flux resources
  export extern "flux-operator resume resource" [
    --wait: string@"nu-complete flux-operator resume resource wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator resume resource dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator resume resource progress" # How to show progress, on standard error
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
    --color: string@"nu-complete flux-operator resume resource color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator resume help" [
  ]

  # Resume the reconciliation of a FluxInstance
  export extern "flux-operator resume help instance" [
  ]

  # Resume the reconciliation of Flux resources
  export extern "flux-operator resume help resource" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator resume help help" [
  ]

  def "nu-complete flux-operator wait color" [] {
    [ "auto" "always" "never" ]
  }

  # Wait until an object is ready
  export extern "flux-operator wait" [
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
    --color: string@"nu-complete flux-operator wait color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator wait instance until" [] {
    [ "ready" "create" "delete" ]
  }

  def "nu-complete flux-operator wait instance progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator wait instance color" [] {
    [ "auto" "always" "never" ]
  }

  # Wait until a FluxInstance is ready
  export extern "flux-operator wait instance" [
    --for: string@"nu-complete flux-operator wait instance until" # What to wait for; an object that does not exist ends the wait at once unless it is create
    --progress: string@"nu-complete flux-operator wait instance progress" # How to show progress, on standard error
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
    --color: string@"nu-complete flux-operator wait instance color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name?: string             # Name of the instance
  ]

  def "nu-complete flux-operator wait resource until" [] {
    [ "ready" "create" "delete" ]
  }

  def "nu-complete flux-operator wait resource progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator wait resource color" [] {
    [ "auto" "always" "never" ]
  }

  # Wait until Flux resources are ready
  export extern "flux-operator wait resource" [
    --for: string@"nu-complete flux-operator wait resource until" # What to wait for; an object that does not exist ends the wait at once unless it is create
    --progress: string@"nu-complete flux-operator wait resource progress" # How to show progress, on standard error
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
    --color: string@"nu-complete flux-operator wait resource color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator wait help" [
  ]

  # Wait until a FluxInstance is ready
  export extern "flux-operator wait help instance" [
  ]

  # Wait until Flux resources are ready
  export extern "flux-operator wait help resource" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator wait help help" [
  ]

  def "nu-complete flux-operator export color" [] {
    [ "auto" "always" "never" ]
  }

  # Print objects without what the cluster added
  export extern "flux-operator export" [
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
    --color: string@"nu-complete flux-operator export color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator export instance output" [] {
    [ "yaml" "json" ]
  }

  def "nu-complete flux-operator export instance color" [] {
    [ "auto" "always" "never" ]
  }

  # Print a FluxInstance without what the cluster added
  export extern "flux-operator export instance" [
    --output(-o): string@"nu-complete flux-operator export instance output" # Format of the output
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
    --color: string@"nu-complete flux-operator export instance color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name?: string             # Name of the instance
  ]

  def "nu-complete flux-operator export resource output" [] {
    [ "yaml" "json" ]
  }

  def "nu-complete flux-operator export resource color" [] {
    [ "auto" "always" "never" ]
  }

  # Print Flux resources without what the cluster added
  export extern "flux-operator export resource" [
    --output(-o): string@"nu-complete flux-operator export resource output" # Format of the output
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
    --color: string@"nu-complete flux-operator export resource color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator export help" [
  ]

  # Print a FluxInstance without what the cluster added
  export extern "flux-operator export help instance" [
  ]

  # Print Flux resources without what the cluster added
  export extern "flux-operator export help resource" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator export help help" [
  ]

  def "nu-complete flux-operator delete color" [] {
    [ "auto" "always" "never" ]
  }

  # Delete objects
  export extern "flux-operator delete" [
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
    --color: string@"nu-complete flux-operator delete color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator delete instance wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator delete instance dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator delete instance progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator delete instance color" [] {
    [ "auto" "always" "never" ]
  }

  # Delete a FluxInstance
  export extern "flux-operator delete instance" [
    --with-suspend            # Suspend the instance first, so that Flux stays in the cluster
    --yes(-y)                 # Do not ask
    --wait: string@"nu-complete flux-operator delete instance wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator delete instance dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator delete instance progress" # How to show progress, on standard error
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
    --color: string@"nu-complete flux-operator delete instance color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name?: string             # Name of the instance
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator delete help" [
  ]

  # Delete a FluxInstance
  export extern "flux-operator delete help instance" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator delete help help" [
  ]

  def "nu-complete flux-operator explain output" [] {
    [ "text" "json" "yaml" ]
  }

  def "nu-complete flux-operator explain color" [] {
    [ "auto" "always" "never" ]
  }

  # Explain a kind or one of its fields
  export extern "flux-operator explain" [
    --api-version: string     # Version of the kind [default: the stored one]
    --recursive               # Show the fields of all levels, without their descriptions
    --output(-o): string@"nu-complete flux-operator explain output" # Format of the output
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
    --color: string@"nu-complete flux-operator explain color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    field: string             # Kind, and the path of a field in it; any case, plural or short name
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

  def "nu-complete flux-operator generate crds color" [] {
    [ "auto" "always" "never" ]
  }

  # Write the custom resource definitions into a folder
  export extern "flux-operator generate crds" [
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
    --color: string@"nu-complete flux-operator generate crds color" # When to use colour
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

  # Write the custom resource definitions into a folder
  export extern "flux-operator generate help crds" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator generate help help" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator help" [
  ]

  # Build objects offline, exactly as a reconcile would apply them
  export extern "flux-operator help build" [
  ]

  # Print the objects of a FluxInstance, offline
  export extern "flux-operator help build instance" [
  ]

  # Create manifests from flags
  export extern "flux-operator help create" [
  ]

  # Print the manifest of a FluxInstance made from flags
  export extern "flux-operator help create instance" [
  ]

  # Reconcile now
  export extern "flux-operator help reconcile" [
  ]

  # Reconcile a FluxInstance now
  export extern "flux-operator help reconcile instance" [
  ]

  # Reconcile Flux resources now
  export extern "flux-operator help reconcile resource" [
  ]

  # Reconcile every object of a kind now
  export extern "flux-operator help reconcile all" [
  ]

  # Suspend reconciliation
  export extern "flux-operator help suspend" [
  ]

  # Suspend the reconciliation of a FluxInstance
  export extern "flux-operator help suspend instance" [
  ]

  # Suspend the reconciliation of Flux resources
  export extern "flux-operator help suspend resource" [
  ]

  # Resume reconciliation
  export extern "flux-operator help resume" [
  ]

  # Resume the reconciliation of a FluxInstance
  export extern "flux-operator help resume instance" [
  ]

  # Resume the reconciliation of Flux resources
  export extern "flux-operator help resume resource" [
  ]

  # Wait until an object is ready
  export extern "flux-operator help wait" [
  ]

  # Wait until a FluxInstance is ready
  export extern "flux-operator help wait instance" [
  ]

  # Wait until Flux resources are ready
  export extern "flux-operator help wait resource" [
  ]

  # Print objects without what the cluster added
  export extern "flux-operator help export" [
  ]

  # Print a FluxInstance without what the cluster added
  export extern "flux-operator help export instance" [
  ]

  # Print Flux resources without what the cluster added
  export extern "flux-operator help export resource" [
  ]

  # Delete objects
  export extern "flux-operator help delete" [
  ]

  # Delete a FluxInstance
  export extern "flux-operator help delete instance" [
  ]

  # Explain a kind or one of its fields
  export extern "flux-operator help explain" [
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

  # Write the custom resource definitions into a folder
  export extern "flux-operator help generate crds" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator help help" [
  ]

}

export use completions *
