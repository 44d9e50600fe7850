module completions {

  def "nu-complete flux-operator color" [] {
    [ "auto" "always" "never" ]
  }

  # Install, configure, inspect and reconcile Flux on Kubernetes
  export extern flux-operator [
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    --version(-V)             # Print version
  ]

  def "nu-complete flux-operator get ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator get color" [] {
    [ "auto" "always" "never" ]
  }

  # List Flux objects, components, history, inventory, inputs or suspended objects
  export extern "flux-operator get" [
    --kind: string            # Kinds to list, repeatable or with commas
    --all-namespaces(-A)      # List objects of all namespaces
    --selector(-l): string    # Keep objects whose labels match, as in kubectl: a=b, a!=b, a in (b,c), !a
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .metadata.name
    --filter: string          # Keep rows whose column has (=) or has not (!=) a value, repeatable
    --ready-status: string@"nu-complete flux-operator get ready_status" # Keep rows of this readiness, repeatable
    --label-columns(-L): string # Add a column for a label, repeatable
    --show-labels             # Add a column with all labels
    --watch(-w)               # Keep watching and print changes
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator get color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # KIND, KIND,KIND, KIND NAME… or KIND/NAME…, or all
  ]

  def "nu-complete flux-operator get components ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator get components color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the controllers of an installation
  export extern "flux-operator get components" [
    --all-namespaces(-A)      # List objects of all namespaces
    --selector(-l): string    # Keep objects whose labels match, as in kubectl: a=b, a!=b, a in (b,c), !a
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .metadata.name
    --filter: string          # Keep rows whose column has (=) or has not (!=) a value, repeatable
    --ready-status: string@"nu-complete flux-operator get components ready_status" # Keep rows of this readiness, repeatable
    --label-columns(-L): string # Add a column for a label, repeatable
    --show-labels             # Add a column with all labels
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --watch(-w)               # Keep watching and print changes
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator get components color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...names: string          # Names of controllers; all if omitted
  ]

  def "nu-complete flux-operator get history ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator get history color" [] {
    [ "auto" "always" "never" ]
  }

  # Show what an instance or another owner reconciled, newest first
  export extern "flux-operator get history" [
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .metadata.name
    --filter: string          # Keep rows whose column has (=) or has not (!=) a value, repeatable
    --ready-status: string@"nu-complete flux-operator get history ready_status" # Keep rows of this readiness, repeatable
    --label-columns(-L): string # Add a column for a label, repeatable
    --show-labels             # Add a column with all labels
    --watch(-w)               # Keep watching and print changes
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator get history color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...owner: string          # Name of an instance, KIND/NAME or KIND NAME of another owner [default: flux]
  ]

  def "nu-complete flux-operator get inputs ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator get inputs color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the input sets of a ResourceSet or of a provider
  export extern "flux-operator get inputs" [
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .metadata.name
    --filter: string          # Keep rows whose column has (=) or has not (!=) a value, repeatable
    --ready-status: string@"nu-complete flux-operator get inputs ready_status" # Keep rows of this readiness, repeatable
    --label-columns(-L): string # Add a column for a label, repeatable
    --show-labels             # Add a column with all labels
    --watch(-w)               # Keep watching and print changes
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator get inputs color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...owner: string          # Name of a ResourceSet, or KIND/NAME or KIND NAME of a ResourceSet or a provider
  ]

  def "nu-complete flux-operator get inventory ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator get inventory color" [] {
    [ "auto" "always" "never" ]
  }

  # Show objects applied by an instance or another owner, with health and drift
  export extern "flux-operator get inventory" [
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .metadata.name
    --filter: string          # Keep rows whose column has (=) or has not (!=) a value, repeatable
    --ready-status: string@"nu-complete flux-operator get inventory ready_status" # Keep rows of this readiness, repeatable
    --label-columns(-L): string # Add a column for a label, repeatable
    --show-labels             # Add a column with all labels
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --watch(-w)               # Keep watching and print changes
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator get inventory color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...owner: string          # Name of an instance, KIND/NAME or KIND NAME of another owner [default: flux]
  ]

  def "nu-complete flux-operator get suspended ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator get suspended color" [] {
    [ "auto" "always" "never" ]
  }

  # Show suspended objects: since when, by whom, why, until when
  export extern "flux-operator get suspended" [
    --all-namespaces(-A)      # List objects of all namespaces
    --selector(-l): string    # Keep objects whose labels match, as in kubectl: a=b, a!=b, a in (b,c), !a
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .metadata.name
    --filter: string          # Keep rows whose column has (=) or has not (!=) a value, repeatable
    --ready-status: string@"nu-complete flux-operator get suspended ready_status" # Keep rows of this readiness, repeatable
    --label-columns(-L): string # Add a column for a label, repeatable
    --show-labels             # Add a column with all labels
    --watch(-w)               # Keep watching and print changes
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator get suspended color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...kinds: string          # Kinds to show [default: all]
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator get help" [
  ]

  # Show the controllers of an installation
  export extern "flux-operator get help components" [
  ]

  # Show what an instance or another owner reconciled, newest first
  export extern "flux-operator get help history" [
  ]

  # Show the input sets of a ResourceSet or of a provider
  export extern "flux-operator get help inputs" [
  ]

  # Show objects applied by an instance or another owner, with health and drift
  export extern "flux-operator get help inventory" [
  ]

  # Show suspended objects: since when, by whom, why, until when
  export extern "flux-operator get help suspended" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator get help help" [
  ]

  def "nu-complete flux-operator tree color" [] {
    [ "auto" "always" "never" ]
  }

  # Show what an object consists of, down to the pods
  export extern "flux-operator tree" [
    --compact                 # Show only objects of Flux
    --watch(-w)               # Keep watching and redraw the tree on every change
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, json, jsonl, yaml, name or jsonpath=TEMPLATE
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator tree color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resource: string       # KIND/NAME…, KIND NAME…, or KIND for all its objects
  ]

  def "nu-complete flux-operator trace color" [] {
    [ "auto" "always" "never" ]
  }

  # Show what manages an object and where its content comes from
  export extern "flux-operator trace" [
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, json, jsonl, yaml, name or jsonpath=TEMPLATE
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator trace color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resource: string       # KIND/NAME…, KIND NAME…, or KIND for all its objects
  ]

  def "nu-complete flux-operator events types" [] {
    [ "Normal" "Warning" ]
  }

  def "nu-complete flux-operator events ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator events color" [] {
    [ "auto" "always" "never" ]
  }

  # Show what happened to Flux objects, oldest first
  export extern "flux-operator events" [
    --for: string             # Same as the argument, for compatibility with flux
    --types: string@"nu-complete flux-operator events types" # Only events of these types: Normal, Warning
    --since: string           # Only events since this time: 10m, 2h, 3d, or a UTC time like 18:00, 2026-11-22 or 2026-11-22T08:00:00Z
    --all-namespaces(-A)      # Show events of all namespaces
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .metadata.name
    --filter: string          # Keep rows whose column has (=) or has not (!=) a value, repeatable
    --ready-status: string@"nu-complete flux-operator events ready_status" # Keep rows of this readiness, repeatable
    --label-columns(-L): string # Add a column for a label, repeatable
    --show-labels             # Add a column with all labels
    --watch(-w)               # Keep watching and print new events
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator events color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resource: string       # KIND, KIND NAME… or KIND/NAME… [default: all Flux kinds]
  ]

  def "nu-complete flux-operator debug color" [] {
    [ "auto" "always" "never" ]
  }

  # Show effective Helm values, substitution variables and inputs
  export extern "flux-operator debug" [
    --values                  # The values of a HelmRelease, merged as passed to Helm
    --vars                    # The substitution variables of a Kustomization
    --inputs                  # The input sets of a ResourceSet or a ResourceSetInputProvider
    --status                  # The conditions
    --history                 # Earlier releases or applied revisions
    --reveal                  # Show the values that come from Secrets
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml or jsonpath=TEMPLATE
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator debug color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resource: string       # HelmRelease, Kustomization, ResourceSet or input provider, as KIND/NAME or KIND NAME
  ]

  def "nu-complete flux-operator impact color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the consequences of deleting an object
  export extern "flux-operator impact" [
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name or jsonpath=TEMPLATE
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator impact color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resource: string       # KIND/NAME…, or KIND NAME…
  ]

  def "nu-complete flux-operator logs level" [] {
    [ "error" "info" "debug" "trace" ]
  }

  def "nu-complete flux-operator logs output" [] {
    [ "text" "json" ]
  }

  def "nu-complete flux-operator logs color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the merged logs of Flux's controllers in chronological order
  export extern "flux-operator logs" [
    --since: string           # Only lines since this time: 10m, 2h, 3d, or a UTC time like 18:00, 2026-11-22 or 2026-11-22T08:00:00Z
    --tail: string            # Only this number of lines from the end
    --level: string@"nu-complete flux-operator logs level" # Minimum severity of lines
    --controller: string      # Only lines of this controller, with or without -controller, repeatable
    --follow(-f)              # Continue with new lines until Ctrl-C
    --output(-o): string@"nu-complete flux-operator logs output" # Readable lines, or the controllers' original JSON
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator logs color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resource: string       # Flux objects as KIND/NAME… or KIND NAME… [default: all lines]
  ]

  def "nu-complete flux-operator report color" [] {
    [ "auto" "always" "never" ]
  }

  # Write a self-contained HTML report
  export extern "flux-operator report" [
    --overwrite               # Overwrite an existing file
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --output(-o): string      # Format: table, json, jsonl, yaml or jsonpath=TEMPLATE
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator report color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    file?: path               # File to write; - is standard output
  ]

  def "nu-complete flux-operator bundle progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator bundle color" [] {
    [ "auto" "always" "never" ]
  }

  # Collect a support bundle without secrets
  export extern "flux-operator bundle" [
    --output(-o): path        # File to write, or - for stdout [default: flux-bundle-TIME.tar.gz]
    --redact: path            # Make the bundle from a dump: a folder, a file, or - for stdin
    --max-size: string        # Maximum size of the text in megabytes, before compression
    --allow-unmasked          # Write the bundle even if secrets may be left in it
    --log-lines: string       # Number of lines from the end of each log
    --progress: string@"nu-complete flux-operator bundle progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator bundle color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator stats ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator stats color" [] {
    [ "auto" "always" "never" ]
  }

  # Count Flux objects by kind: running, failing, suspended, storage
  export extern "flux-operator stats" [
    --all-namespaces(-A)      # Count in all namespaces (the default without -n)
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .metadata.name
    --filter: string          # Keep rows whose column has (=) or has not (!=) a value, repeatable
    --ready-status: string@"nu-complete flux-operator stats ready_status" # Keep rows of this readiness, repeatable
    --label-columns(-L): string # Add a column for a label, repeatable
    --show-labels             # Add a column with all labels
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator stats color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator status color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the whole installation on one screen
  export extern "flux-operator status" [
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, json, jsonl, yaml, name or jsonpath=TEMPLATE
    --watch(-w)               # Keep watching and print changes
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator status color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator why color" [] {
    [ "auto" "always" "never" ]
  }

  # Explain why objects are not healthy
  export extern "flux-operator why" [
    --all-namespaces(-A)      # All namespaces, even if -n names one
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name or jsonpath=TEMPLATE
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator why color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resource: string       # KIND/NAME…, KIND NAME…, or KIND for all objects [default: everything]
  ]

  def "nu-complete flux-operator check color" [] {
    [ "auto" "always" "never" ]
  }

  # Check the cluster and the installation
  export extern "flux-operator check" [
    --pre                     # Check only the prerequisites of an installation
    --short                   # Print one line with the totals and the problems
    --filename(-f): path      # Check only the Flux API versions of manifests in a folder or file, as migrate would change them
    --extensions(-e): string  # Extensions of manifests in a folder [default: .yaml, .yml, .json]
    --to: string              # Also check what this version of Flux changes: removed flags and feature gates of controllers, stricter substitution, the required Kubernetes version
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --output(-o): string      # Format: table, json, jsonl, yaml or jsonpath=TEMPLATE
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator check color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator version color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the versions of this program, the operator, Flux and the cluster
  export extern "flux-operator version" [
    --client                  # Show only the version of this program, without contacting the cluster
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, json, jsonl, yaml, name or jsonpath=TEMPLATE
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator version color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator what-changed ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator what-changed color" [] {
    [ "auto" "always" "never" ]
  }

  # Show who changed what, in chronological order
  export extern "flux-operator what-changed" [
    --since: string           # Start time: 30m, 2h, 3d, or a UTC time like 18:00, 2026-11-22 or 2026-11-22T08:00:00Z
    --all-namespaces(-A)      # All namespaces, even if -n names one
    --all                     # Also show writes by Flux and Kubernetes
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .metadata.name
    --filter: string          # Keep rows whose column has (=) or has not (!=) a value, repeatable
    --ready-status: string@"nu-complete flux-operator what-changed ready_status" # Keep rows of this readiness, repeatable
    --label-columns(-L): string # Add a column for a label, repeatable
    --show-labels             # Add a column with all labels
    --watch(-w)               # Keep watching and print changes
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator what-changed color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator create color" [] {
    [ "auto" "always" "never" ]
  }

  # Create secrets and manifests from flags
  export extern "flux-operator create" [
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
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

  def "nu-complete flux-operator create instance wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator create instance dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator create instance progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator create instance color" [] {
    [ "auto" "always" "never" ]
  }

  # Create a FluxInstance from flags
  export extern "flux-operator create instance" [
    --distribution-version: string # Flux version, exact or a range
    --distribution-registry: string # Registry and path of the controller images
    --distribution-variant: string@"nu-complete flux-operator create instance distribution_variant" # Variant of the images, if the registry is a mirror
    --distribution-artifact: string # OCI artifact with the distribution, as oci://host/path:tag
    --distribution-artifact-pull-secret: string # Pull secret for the artifact
    --distribution-image-pull-secret: string # Image pull secret of the controllers' pods
    --components: string@"nu-complete flux-operator create instance components" # Controllers to install instead of the default four, separated by commas
    --components-extra: string@"nu-complete flux-operator create instance components_extra" # Additional controllers to install, separated by commas
    --cluster-type: string@"nu-complete flux-operator create instance cluster_type" # Type of the cluster
    --cluster-size: string@"nu-complete flux-operator create instance cluster_size" # Expected load of Flux: tens, hundreds or a thousand applications
    --cluster-domain: string  # DNS domain of the cluster's services
    --cluster-multitenant: string@"nu-complete flux-operator create instance cluster_multitenant" # Restrict tenants to their namespaces
    --cluster-network-policy: string@"nu-complete flux-operator create instance cluster_network_policy" # Restrict network access from other namespaces to Flux; on by default
    --storage-class: string   # Storage class of a volume for source-controller
    --storage-size: string    # Size of the volume, such as 10Gi
    --shards: string          # Names of shards, separated by commas
    --sharding-key: string    # Label whose value names the shard
    --sharding-storage: string@"nu-complete flux-operator create instance sharding_storage" # Where shards of source-controller store artifacts
    --sync-url: string        # Address of the repository, registry or bucket to apply
    --sync-kind: string@"nu-complete flux-operator create instance sync_kind" # Kind of the source [default: by the address]
    --sync-ref: string        # Git reference, tag or bucket [default: by the kind]
    --sync-path: string       # Folder with the manifests
    --sync-interval: string   # How often the source is checked
    --sync-pull-secret: string # Secret with the credentials for the source
    --sync-provider: string@"nu-complete flux-operator create instance sync_provider" # Provider of the identity used instead of a secret
    --sync-name: string       # Name of the source and the Kustomization [default: the namespace]
    --export                  # Print the manifest instead of storing it; needs no cluster
    --output(-o): string@"nu-complete flux-operator create instance output" # Format of the manifest [default: yaml, with --export]
    --in-process              # Do the operator's work in this process, without an operator in the cluster
    --force-in-process        # Work in this process even though an operator is running
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --wait: string@"nu-complete flux-operator create instance wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator create instance dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator create instance progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator create instance color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name?: string             # Name of the instance
  ]

  def "nu-complete flux-operator create secret color" [] {
    [ "auto" "always" "never" ]
  }

  # Create the secrets Flux needs
  export extern "flux-operator create secret" [
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator create secret color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator create secret basic-auth dry_run" [] {
    [ "none" "client" "server" ]
  }

  def "nu-complete flux-operator create secret basic-auth color" [] {
    [ "auto" "always" "never" ]
  }

  # Create a Secret with a user name and a password, or with a bearer token
  export extern "flux-operator create secret basic-auth" [
    --label: string           # Labels as KEY=VALUE, repeatable or separated by commas
    --annotation: string      # Annotations as KEY=TEXT; repeat the flag for several, commas in values are kept
    --immutable               # Make the data immutable
    --export                  # Print the Secret as YAML instead of writing it; needs no cluster
    --dry-run: string@"nu-complete flux-operator create secret basic-auth dry_run" # Write nothing: only check here (client), or let the API server check as well (server)
    --replace                 # Delete and recreate a Secret that is immutable or of another type
    --force-conflicts         # Take over fields that another field manager owns
    --skip-checks             # Write the credentials even if they look wrong
    --username: string        # User name
    --password: string        # Password; visible to other users of this machine
    --password-stdin          # Read the password from standard input: one line, spaces kept
    --password-file: path     # Read the password from a file of one line
    --password-env: string    # Read the password from the environment variable NAME
    --bearer-token: string    # Bearer token for Git, instead of user name and password; visible to other users of this machine
    --bearer-token-stdin      # Read the bearer token from standard input
    --bearer-token-file: path # Read the bearer token from a file of one line
    --bearer-token-env: string # Read the bearer token from the environment variable NAME
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator create secret basic-auth color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the Secret
  ]

  def "nu-complete flux-operator create secret registry dry_run" [] {
    [ "none" "client" "server" ]
  }

  def "nu-complete flux-operator create secret registry color" [] {
    [ "auto" "always" "never" ]
  }

  # Create a Secret with the credentials of a container registry
  export extern "flux-operator create secret registry" [
    --label: string           # Labels as KEY=VALUE, repeatable or separated by commas
    --annotation: string      # Annotations as KEY=TEXT; repeat the flag for several, commas in values are kept
    --immutable               # Make the data immutable
    --export                  # Print the Secret as YAML instead of writing it; needs no cluster
    --dry-run: string@"nu-complete flux-operator create secret registry dry_run" # Write nothing: only check here (client), or let the API server check as well (server)
    --replace                 # Delete and recreate a Secret that is immutable or of another type
    --force-conflicts         # Take over fields that another field manager owns
    --skip-checks             # Write the credentials even if they look wrong
    --server: string          # Registry as HOST or HOST:PORT
    --username: string        # User name
    --password: string        # Password; visible to other users of this machine
    --password-stdin          # Read the password from standard input: one line, spaces kept
    --password-file: path     # Read the password from a file of one line
    --password-env: string    # Read the password from the environment variable NAME
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator create secret registry color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the Secret
  ]

  def "nu-complete flux-operator create secret ssh dry_run" [] {
    [ "none" "client" "server" ]
  }

  def "nu-complete flux-operator create secret ssh color" [] {
    [ "auto" "always" "never" ]
  }

  # Create a Secret with an SSH key and the host keys to trust
  export extern "flux-operator create secret ssh" [
    --label: string           # Labels as KEY=VALUE, repeatable or separated by commas
    --annotation: string      # Annotations as KEY=TEXT; repeat the flag for several, commas in values are kept
    --immutable               # Make the data immutable
    --export                  # Print the Secret as YAML instead of writing it; needs no cluster
    --dry-run: string@"nu-complete flux-operator create secret ssh dry_run" # Write nothing: only check here (client), or let the API server check as well (server)
    --replace                 # Delete and recreate a Secret that is immutable or of another type
    --force-conflicts         # Take over fields that another field manager owns
    --skip-checks             # Write the credentials even if they look wrong
    --private-key-file: path  # Private key
    --public-key-file: path   # Public key that belongs to the private key
    --knownhosts-file: path   # Host keys to trust, as ssh-keyscan prints them
    --password: string        # Password; visible to other users of this machine
    --password-stdin          # Read the password from standard input: one line, spaces kept
    --password-file: path     # Read the password from a file of one line
    --password-env: string    # Read the password from the environment variable NAME
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator create secret ssh color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the Secret
  ]

  def "nu-complete flux-operator create secret githubapp dry_run" [] {
    [ "none" "client" "server" ]
  }

  def "nu-complete flux-operator create secret githubapp color" [] {
    [ "auto" "always" "never" ]
  }

  # Create a Secret with the key of a GitHub App
  export extern "flux-operator create secret githubapp" [
    --label: string           # Labels as KEY=VALUE, repeatable or separated by commas
    --annotation: string      # Annotations as KEY=TEXT; repeat the flag for several, commas in values are kept
    --immutable               # Make the data immutable
    --export                  # Print the Secret as YAML instead of writing it; needs no cluster
    --dry-run: string@"nu-complete flux-operator create secret githubapp dry_run" # Write nothing: only check here (client), or let the API server check as well (server)
    --replace                 # Delete and recreate a Secret that is immutable or of another type
    --force-conflicts         # Take over fields that another field manager owns
    --skip-checks             # Write the credentials even if they look wrong
    --app-id: string          # ID of the app
    --app-installation-owner: string # Organisation or user the app is installed in
    --app-installation-id: string # ID of the installation
    --app-private-key-file: path # Private key of the app, in PEM
    --app-base-url: string    # API address of a GitHub Enterprise server
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator create secret githubapp color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the Secret
  ]

  def "nu-complete flux-operator create secret bucket dry_run" [] {
    [ "none" "client" "server" ]
  }

  def "nu-complete flux-operator create secret bucket color" [] {
    [ "auto" "always" "never" ]
  }

  # Create a Secret with the keys of an S3-compatible bucket
  export extern "flux-operator create secret bucket" [
    --label: string           # Labels as KEY=VALUE, repeatable or separated by commas
    --annotation: string      # Annotations as KEY=TEXT; repeat the flag for several, commas in values are kept
    --immutable               # Make the data immutable
    --export                  # Print the Secret as YAML instead of writing it; needs no cluster
    --dry-run: string@"nu-complete flux-operator create secret bucket dry_run" # Write nothing: only check here (client), or let the API server check as well (server)
    --replace                 # Delete and recreate a Secret that is immutable or of another type
    --force-conflicts         # Take over fields that another field manager owns
    --skip-checks             # Write the credentials even if they look wrong
    --accesskey: string       # Access key
    --secretkey: string       # Secret key; visible to other users of this machine
    --secretkey-stdin         # Read the secret key from standard input: one line, spaces kept
    --secretkey-file: path    # Read the secret key from a file of one line
    --secretkey-env: string   # Read the secret key from the environment variable NAME
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator create secret bucket color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the Secret
  ]

  def "nu-complete flux-operator create secret proxy dry_run" [] {
    [ "none" "client" "server" ]
  }

  def "nu-complete flux-operator create secret proxy color" [] {
    [ "auto" "always" "never" ]
  }

  # Create a Secret with the address of an HTTP proxy
  export extern "flux-operator create secret proxy" [
    --label: string           # Labels as KEY=VALUE, repeatable or separated by commas
    --annotation: string      # Annotations as KEY=TEXT; repeat the flag for several, commas in values are kept
    --immutable               # Make the data immutable
    --export                  # Print the Secret as YAML instead of writing it; needs no cluster
    --dry-run: string@"nu-complete flux-operator create secret proxy dry_run" # Write nothing: only check here (client), or let the API server check as well (server)
    --replace                 # Delete and recreate a Secret that is immutable or of another type
    --force-conflicts         # Take over fields that another field manager owns
    --skip-checks             # Write the credentials even if they look wrong
    --address: string         # Address as http://HOST:PORT
    --username: string        # User name
    --password: string        # Password; visible to other users of this machine
    --password-stdin          # Read the password from standard input: one line, spaces kept
    --password-file: path     # Read the password from a file of one line
    --password-env: string    # Read the password from the environment variable NAME
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator create secret proxy color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the Secret
  ]

  def "nu-complete flux-operator create secret tls dry_run" [] {
    [ "none" "client" "server" ]
  }

  def "nu-complete flux-operator create secret tls color" [] {
    [ "auto" "always" "never" ]
  }

  # Create a Secret with a certificate and key, a certificate authority, or both
  export extern "flux-operator create secret tls" [
    --label: string           # Labels as KEY=VALUE, repeatable or separated by commas
    --annotation: string      # Annotations as KEY=TEXT; repeat the flag for several, commas in values are kept
    --immutable               # Make the data immutable
    --export                  # Print the Secret as YAML instead of writing it; needs no cluster
    --dry-run: string@"nu-complete flux-operator create secret tls dry_run" # Write nothing: only check here (client), or let the API server check as well (server)
    --replace                 # Delete and recreate a Secret that is immutable or of another type
    --force-conflicts         # Take over fields that another field manager owns
    --skip-checks             # Write the credentials even if they look wrong
    --tls-crt-file: path      # Client certificate, in PEM
    --tls-key-file: path      # Private key of the client certificate, in PEM
    --ca-crt-file: path       # Certificate authority of the server, in PEM
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator create secret tls color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the Secret
  ]

  def "nu-complete flux-operator create secret sops dry_run" [] {
    [ "none" "client" "server" ]
  }

  def "nu-complete flux-operator create secret sops color" [] {
    [ "auto" "always" "never" ]
  }

  # Create a Secret with keys that decrypt files encrypted by SOPS
  export extern "flux-operator create secret sops" [
    --label: string           # Labels as KEY=VALUE, repeatable or separated by commas
    --annotation: string      # Annotations as KEY=TEXT; repeat the flag for several, commas in values are kept
    --immutable               # Make the data immutable
    --export                  # Print the Secret as YAML instead of writing it; needs no cluster
    --dry-run: string@"nu-complete flux-operator create secret sops dry_run" # Write nothing: only check here (client), or let the API server check as well (server)
    --replace                 # Delete and recreate a Secret that is immutable or of another type
    --force-conflicts         # Take over fields that another field manager owns
    --skip-checks             # Write the credentials even if they look wrong
    --age-key-file: path      # Files with age identities, repeatable or separated by commas
    --gpg-key-file: path      # Files with armoured GPG private keys, repeatable or separated by commas
    --age-key-stdin           # Read age identities from standard input
    --gpg-key-stdin           # Read an armoured GPG private key from standard input
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator create secret sops color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    name: string              # Name of the Secret
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator create secret help" [
  ]

  # Create a Secret with a user name and a password, or with a bearer token
  export extern "flux-operator create secret help basic-auth" [
  ]

  # Create a Secret with the credentials of a container registry
  export extern "flux-operator create secret help registry" [
  ]

  # Create a Secret with an SSH key and the host keys to trust
  export extern "flux-operator create secret help ssh" [
  ]

  # Create a Secret with the key of a GitHub App
  export extern "flux-operator create secret help githubapp" [
  ]

  # Create a Secret with the keys of an S3-compatible bucket
  export extern "flux-operator create secret help bucket" [
  ]

  # Create a Secret with the address of an HTTP proxy
  export extern "flux-operator create secret help proxy" [
  ]

  # Create a Secret with a certificate and key, a certificate authority, or both
  export extern "flux-operator create secret help tls" [
  ]

  # Create a Secret with keys that decrypt files encrypted by SOPS
  export extern "flux-operator create secret help sops" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator create secret help help" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator create help" [
  ]

  # Create a FluxInstance from flags
  export extern "flux-operator create help instance" [
  ]

  # Create the secrets Flux needs
  export extern "flux-operator create help secret" [
  ]

  # Create a Secret with a user name and a password, or with a bearer token
  export extern "flux-operator create help secret basic-auth" [
  ]

  # Create a Secret with the credentials of a container registry
  export extern "flux-operator create help secret registry" [
  ]

  # Create a Secret with an SSH key and the host keys to trust
  export extern "flux-operator create help secret ssh" [
  ]

  # Create a Secret with the key of a GitHub App
  export extern "flux-operator create help secret githubapp" [
  ]

  # Create a Secret with the keys of an S3-compatible bucket
  export extern "flux-operator create help secret bucket" [
  ]

  # Create a Secret with the address of an HTTP proxy
  export extern "flux-operator create help secret proxy" [
  ]

  # Create a Secret with a certificate and key, a certificate authority, or both
  export extern "flux-operator create help secret tls" [
  ]

  # Create a Secret with keys that decrypt files encrypted by SOPS
  export extern "flux-operator create help secret sops" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator create help help" [
  ]

  def "nu-complete flux-operator build output" [] {
    [ "yaml" "json" "name" "images" ]
  }

  def "nu-complete flux-operator build color" [] {
    [ "auto" "always" "never" ]
  }

  # Build objects offline, exactly as a reconcile would apply them
  export extern "flux-operator build" [
    --filename(-f): path      # File that contains one such object; - reads standard input
    --output(-o): string@"nu-complete flux-operator build output" # Output: objects, their names, or the images that an instance runs
    --strict                  # Treat warnings as errors: patches without effect, images without digest, an artifact that cannot be pulled, and warnings about a ResourceSet
    --revision                # Print only the revision: version and digest of the objects
    --explain-patches         # Print what each patch of the spec matches and changes
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --allow-unknown-minor     # Accept minor versions that this program does not know
    --inputs-from(-i): path   # File with a list of input sets that replace those of the manifest
    --inputs-from-provider: path # File with ResourceSetInputProviders of the type Static
    --live                    # Use the inputs that the providers in the cluster have exported
    --from: path              # Use the inputs that the providers of a dump have exported: a folder, a file, or - for stdin
    --explain                 # Print the template and the input set that made each object
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator build color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...object: string         # Kind of the object in the file: instance or resourceset [default: instance]
  ]

  def "nu-complete flux-operator plan output" [] {
    [ "table" "wide" "json" "yaml" ]
  }

  def "nu-complete flux-operator plan progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator plan color" [] {
    [ "auto" "always" "never" ]
  }

  # Show what an apply would change
  export extern "flux-operator plan" [
    --filename(-f): path      # File with the object; - reads standard input
    --output(-o): string@"nu-complete flux-operator plan output" # Format: a screen, all objects with all fields (wide), JSON or YAML
    --diff                    # Print unified YAML diffs; values of secrets are masked
    --out: path               # Save the plan of an instance for `apply --plan`
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --allow-unknown-minor     # Accept minor versions that this program does not know
    --strict                  # Fail on patches without effect and on images without digest
    --default-service-account: string # Service account for a ResourceSet that names none
    --progress: string@"nu-complete flux-operator plan progress" # How to show progress, on standard error
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator plan color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...object: string         # Object in the cluster as KIND/NAME or KIND NAME, or kind of the object in the file [default: instance flux]
  ]

  def "nu-complete flux-operator apply wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator apply dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator apply progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator apply color" [] {
    [ "auto" "always" "never" ]
  }

  # Apply a FluxInstance or a ResourceSet and wait until it is ready
  export extern "flux-operator apply" [
    --filename(-f): path      # File with the object; - reads standard input
    --plan: path              # Carry out the plan that `plan instance --out` saved, in this process
    --force-conflicts         # Take over fields that another manager set to other values
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --in-process              # Do the operator's work in this process, without an operator in the cluster
    --force-in-process        # Work in this process even though an operator is running
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --allow-unknown-minor     # Accept minor versions that this program does not know
    --strict                  # Fail on patches without effect and on images without digest
    --default-service-account: string # Service account for a ResourceSet that names none
    --wait: string@"nu-complete flux-operator apply wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator apply dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator apply progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator apply color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...object: string         # Kind of the object in the file: instance or resourceset [default: instance]
  ]

  def "nu-complete flux-operator reconcile wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator reconcile dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator reconcile progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator reconcile color" [] {
    [ "auto" "always" "never" ]
  }

  # Reconcile now
  export extern "flux-operator reconcile" [
    --all                     # All objects of the given kinds: KIND or KIND,KIND
    --selector(-l): string    # Objects of the given kinds with these labels, as in kubectl
    --all-namespaces(-A)      # Objects of all namespaces; with --all or --selector
    --force                   # Also request actions that the kind performs only when forced; for an instance, the migration of all Flux resources to their latest API version
    --with-source             # First reconcile the source of each object, and wait for it
    --reset                   # Clear the failures of a Helm release, so that it is retried
    --in-process              # Do the operator's work in this process, without an operator in the cluster
    --force-in-process        # Work in this process even though an operator is running
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --allow-unknown-minor     # Accept minor versions that this program does not know
    --strict                  # Fail on patches without effect and on images without digest
    --default-service-account: string # Service account for a ResourceSet that names none
    --wait: string@"nu-complete flux-operator reconcile wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator reconcile dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator reconcile progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator reconcile color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  def "nu-complete flux-operator reconcile all ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator reconcile all wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator reconcile all dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator reconcile all progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator reconcile all color" [] {
    [ "auto" "always" "never" ]
  }

  # Reconcile all Flux objects now, or those of some kinds
  export extern "flux-operator reconcile all" [
    --kind: string            # Same as the argument, for compatibility with flux
    --ready-status: string@"nu-complete flux-operator reconcile all ready_status" # Only objects whose Ready condition has this status
    --all-namespaces(-A)      # Objects of all namespaces
    --selector(-l): string    # Only objects with these labels, as in kubectl
    --force                   # Also request actions that the kind performs only when forced
    --wait: string@"nu-complete flux-operator reconcile all wait" # Wait until each object has handled its request and is ready
    --dry-run: string@"nu-complete flux-operator reconcile all dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator reconcile all progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator reconcile all color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...kinds: string          # Kinds of the objects: any case, plural or short name; all if omitted
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator reconcile help" [
  ]

  # Reconcile all Flux objects now, or those of some kinds
  export extern "flux-operator reconcile help all" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator reconcile help help" [
  ]

  def "nu-complete flux-operator upgrade dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator upgrade wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator upgrade progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator upgrade color" [] {
    [ "auto" "always" "never" ]
  }

  # Upgrade Flux to another version
  export extern "flux-operator upgrade" [
    --instance: string        # Name of the instance
    --diff                    # Also print unified YAML diffs of all objects; values of secrets are masked
    --dry-run: string@"nu-complete flux-operator upgrade dry_run" # Only show what would change; both values contact the API server
    --rollback-on-failure     # Restore the previous spec if the instance does not become ready in time
    --in-process              # Do the operator's work in this process, without an operator in the cluster
    --force-in-process        # Work in this process even though an operator is running
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --wait: string@"nu-complete flux-operator upgrade wait" # Wait for the outcome; --wait=false only sends the request
    --progress: string@"nu-complete flux-operator upgrade progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator upgrade color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    version?: string          # Version or range of versions, such as 2.9.4 or 2.9.x [default: the newest version]
  ]

  def "nu-complete flux-operator rollback dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator rollback wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator rollback progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator rollback color" [] {
    [ "auto" "always" "never" ]
  }

  # Roll back Flux to a revision that was ready before
  export extern "flux-operator rollback" [
    --to: string              # Revision, version, or beginning of a digest to roll back to
    --dry-run: string@"nu-complete flux-operator rollback dry_run" # Only show what would change; both values contact the API server
    --in-process              # Do the operator's work in this process, without an operator in the cluster
    --force-in-process        # Work in this process even though an operator is running
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --wait: string@"nu-complete flux-operator rollback wait" # Wait for the outcome; --wait=false only sends the request
    --progress: string@"nu-complete flux-operator rollback progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator rollback color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...instance: string       # The instance: NAME, KIND/NAME or KIND NAME [default: flux]
  ]

  def "nu-complete flux-operator suspend dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator suspend color" [] {
    [ "auto" "always" "never" ]
  }

  # Suspend reconciliation
  export extern "flux-operator suspend" [
    --all                     # All objects of the given kinds: KIND or KIND,KIND
    --selector(-l): string    # Objects of the given kinds with these labels, as in kubectl
    --all-namespaces(-A)      # Objects of all namespaces; with --all or --selector
    --reason: string          # Reason for the suspension, shown by `get suspended`
    --until: string           # Planned end: 30m, 2h, 3d, or a UTC time like 18:00, 2026-11-22 or 2026-11-22T18:00:00Z. Nothing is resumed automatically: `get suspended` shows the object as overdue, and `resume --overdue` resumes it
    --dry-run: string@"nu-complete flux-operator suspend dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator suspend color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  def "nu-complete flux-operator resume wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator resume dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator resume progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator resume color" [] {
    [ "auto" "always" "never" ]
  }

  # Resume reconciliation
  export extern "flux-operator resume" [
    --all                     # All objects of the given kinds: KIND or KIND,KIND
    --selector(-l): string    # Objects of the given kinds with these labels, as in kubectl
    --all-namespaces(-A)      # Objects of all namespaces; with --all or --selector
    --overdue                 # Resume objects whose planned end has passed; -A for all namespaces
    --in-process              # Do the operator's work in this process, without an operator in the cluster
    --force-in-process        # Work in this process even though an operator is running
    --wait: string@"nu-complete flux-operator resume wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator resume dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator resume progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator resume color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  def "nu-complete flux-operator wait until" [] {
    [ "ready" "create" "delete" ]
  }

  def "nu-complete flux-operator wait progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator wait color" [] {
    [ "auto" "always" "never" ]
  }

  # Wait until objects are ready
  export extern "flux-operator wait" [
    --all                     # All objects of the given kinds: KIND or KIND,KIND
    --selector(-l): string    # Objects of the given kinds with these labels, as in kubectl
    --all-namespaces(-A)      # Objects of all namespaces; with --all or --selector
    --for: string@"nu-complete flux-operator wait until" # State to wait for; a missing object ends the wait at once, except for create
    --watch(-w)               # Then keep printing changes, until Ctrl-C, deletion or --timeout
    --progress: string@"nu-complete flux-operator wait progress" # How to show progress, on standard error
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator wait color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  def "nu-complete flux-operator wait revision progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator wait revision color" [] {
    [ "auto" "always" "never" ]
  }

  # Wait until a revision is fetched, applied and healthy everywhere
  export extern "flux-operator wait revision" [
    --all-namespaces(-A)      # Wait in all namespaces instead of one
    --progress: string@"nu-complete flux-operator wait revision progress" # How to show progress, on standard error
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, json, jsonl, yaml, name or jsonpath=TEMPLATE
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator wait revision color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    revision: string          # Commit or its beginning, tag, digest, or a revision as shown in a status
    ...resources: string      # KIND/NAME of sources, Kustomizations and HelmReleases; all if omitted
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator wait help" [
  ]

  # Wait until a revision is fetched, applied and healthy everywhere
  export extern "flux-operator wait help revision" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator wait help help" [
  ]

  def "nu-complete flux-operator delete wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator delete dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator delete progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator delete color" [] {
    [ "auto" "always" "never" ]
  }

  # Delete objects, after showing what else is deleted with them
  export extern "flux-operator delete" [
    --all                     # All objects of the given kinds: KIND or KIND,KIND
    --selector(-l): string    # Objects of the given kinds with these labels, as in kubectl
    --all-namespaces(-A)      # Objects of all namespaces; with --all or --selector
    --filename(-f): path      # File with an instance; - reads standard input
    --with-suspend            # Suspend the objects first, so that the objects they applied are kept
    --in-process              # Do the operator's work in this process, without an operator in the cluster
    --force-in-process        # Work in this process even though an operator is running
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --wait: string@"nu-complete flux-operator delete wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator delete dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator delete progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator delete color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  def "nu-complete flux-operator install distribution_variant" [] {
    [ "upstream-alpine" "enterprise-alpine" "enterprise-distroless" "enterprise-distroless-fips" ]
  }

  def "nu-complete flux-operator install components" [] {
    [ "source-controller" "kustomize-controller" "helm-controller" "notification-controller" "image-reflector-controller" "image-automation-controller" "source-watcher" ]
  }

  def "nu-complete flux-operator install components_extra" [] {
    [ "source-controller" "kustomize-controller" "helm-controller" "notification-controller" "image-reflector-controller" "image-automation-controller" "source-watcher" ]
  }

  def "nu-complete flux-operator install cluster_type" [] {
    [ "kubernetes" "openshift" "aws" "azure" "gcp" ]
  }

  def "nu-complete flux-operator install cluster_size" [] {
    [ "small" "medium" "large" ]
  }

  def "nu-complete flux-operator install cluster_multitenant" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator install cluster_network_policy" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator install sharding_storage" [] {
    [ "ephemeral" "persistent" ]
  }

  def "nu-complete flux-operator install sync_kind" [] {
    [ "OCIRepository" "GitRepository" "Bucket" ]
  }

  def "nu-complete flux-operator install sync_provider" [] {
    [ "generic" "aws" "azure" "gcp" "github" ]
  }

  def "nu-complete flux-operator install dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator install wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator install progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator install color" [] {
    [ "auto" "always" "never" ]
  }

  # Install or upgrade the operator
  export extern "flux-operator install" [
    --image: string           # Image of the operator; there is no default until images are published
    --pull-secret: string     # Image pull secret of the operator's pods, repeatable
    --replicas: string        # Number of pods; one is active, the others are on standby
    --cluster-admin           # Bind the operator to cluster-admin instead of the smallest role
    --operator-arg: string    # Argument for the operator, repeatable: --operator-arg=--log-level=debug
    --filename(-f): path      # File or https:// address with a FluxInstance to apply; - reads standard input
    --instance                # Apply an instance built from the flags below; implied by each of them
    --secret: path            # File with Secrets to apply before the instance, repeatable; - reads standard input, such as the output of `create secret --export`
    --distribution-version: string # Flux version, exact or a range
    --distribution-registry: string # Registry and path of the controller images
    --distribution-variant: string@"nu-complete flux-operator install distribution_variant" # Variant of the images, if the registry is a mirror
    --distribution-artifact: string # OCI artifact with the distribution, as oci://host/path:tag
    --distribution-artifact-pull-secret: string # Pull secret for the artifact
    --distribution-image-pull-secret: string # Image pull secret of the controllers' pods
    --components: string@"nu-complete flux-operator install components" # Controllers to install instead of the default four, separated by commas
    --components-extra: string@"nu-complete flux-operator install components_extra" # Additional controllers to install, separated by commas
    --cluster-type: string@"nu-complete flux-operator install cluster_type" # Type of the cluster
    --cluster-size: string@"nu-complete flux-operator install cluster_size" # Expected load of Flux: tens, hundreds or a thousand applications
    --cluster-domain: string  # DNS domain of the cluster's services
    --cluster-multitenant: string@"nu-complete flux-operator install cluster_multitenant" # Restrict tenants to their namespaces
    --cluster-network-policy: string@"nu-complete flux-operator install cluster_network_policy" # Restrict network access from other namespaces to Flux; on by default
    --storage-class: string   # Storage class of a volume for source-controller
    --storage-size: string    # Size of the volume, such as 10Gi
    --shards: string          # Names of shards, separated by commas
    --sharding-key: string    # Label whose value names the shard
    --sharding-storage: string@"nu-complete flux-operator install sharding_storage" # Where shards of source-controller store artifacts
    --sync-url: string        # Address of the repository, registry or bucket to apply
    --sync-kind: string@"nu-complete flux-operator install sync_kind" # Kind of the source [default: by the address]
    --sync-ref: string        # Git reference, tag or bucket [default: by the kind]
    --sync-path: string       # Folder with the manifests
    --sync-interval: string   # How often the source is checked
    --sync-pull-secret: string # Secret with the credentials for the source
    --sync-provider: string@"nu-complete flux-operator install sync_provider" # Provider of the identity used instead of a secret
    --sync-name: string       # Name of the source and the Kustomization [default: the namespace]
    --export                  # Print the manifests instead of applying them; needs no cluster
    --dry-run: string@"nu-complete flux-operator install dry_run" # Only show what would change; both values contact the API server
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --wait: string@"nu-complete flux-operator install wait" # Wait for the outcome; --wait=false only sends the request
    --progress: string@"nu-complete flux-operator install progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator install color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator uninstall wait" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator uninstall dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator uninstall progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator uninstall color" [] {
    [ "auto" "always" "never" ]
  }

  # Uninstall Flux and its instance; `uninstall operator` removes the operator
  export extern "flux-operator uninstall" [
    --in-process              # Do the operator's work in this process, without an operator in the cluster
    --force-in-process        # Work in this process even though an operator is running
    --keep-crds               # Keep Flux's CRDs and all their objects
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --wait: string@"nu-complete flux-operator uninstall wait" # Wait for the outcome; --wait=false only sends the request
    --dry-run: string@"nu-complete flux-operator uninstall dry_run" # Change nothing: print what would be sent (client), or let the API server check it (server)
    --progress: string@"nu-complete flux-operator uninstall progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator uninstall color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...instance: string       # The instance: NAME, KIND/NAME or KIND NAME [default: flux]
  ]

  def "nu-complete flux-operator uninstall operator dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator uninstall operator progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator uninstall operator color" [] {
    [ "auto" "always" "never" ]
  }

  # Uninstall the operator
  export extern "flux-operator uninstall operator" [
    --with-instance           # Uninstall Flux and delete its instance first
    --keep-crds               # Keep the operator's CRDs
    --dry-run: string@"nu-complete flux-operator uninstall operator dry_run" # Only show what would change; both values contact the API server
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --progress: string@"nu-complete flux-operator uninstall operator progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator uninstall operator color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator uninstall help" [
  ]

  # Uninstall the operator
  export extern "flux-operator uninstall help operator" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator uninstall help help" [
  ]

  def "nu-complete flux-operator export output" [] {
    [ "yaml" "json" ]
  }

  def "nu-complete flux-operator export color" [] {
    [ "auto" "always" "never" ]
  }

  # Print objects without the fields that the cluster added
  export extern "flux-operator export" [
    --all                     # All objects of the given kinds: KIND or KIND,KIND
    --selector(-l): string    # Objects of the given kinds with these labels, as in kubectl
    --all-namespaces(-A)      # Objects of all namespaces; with --all or --selector
    --output(-o): string@"nu-complete flux-operator export output" # Format of the output
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator export color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...resources: string      # Objects as KIND/NAME, or a KIND followed by names; any case, plural or short name
  ]

  def "nu-complete flux-operator export report output" [] {
    [ "yaml" "json" ]
  }

  def "nu-complete flux-operator export report color" [] {
    [ "auto" "always" "never" ]
  }

  # Print a report of the installation, computed from the cluster
  export extern "flux-operator export report" [
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string@"nu-complete flux-operator export report output" # Format of the output
    --cluster-selector(-l): string # Labels of the ClusterProfiles; also -l where a command has no -l
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator export report color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator export help" [
  ]

  # Print a report of the installation, computed from the cluster
  export extern "flux-operator export help report" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator export help help" [
  ]

  def "nu-complete flux-operator migrate color" [] {
    [ "auto" "always" "never" ]
  }

  # Rewrite deprecated API versions of Flux in files
  export extern "flux-operator migrate" [
    --filename(-f): path      # Folder or file to rewrite; - reads standard input and prints the text
    --path: path              # Folder or file to rewrite; - reads standard input and prints the text
    --to: string              # Flux version whose API versions to use [default: the newest]
    --extensions(-e): string  # Extensions of manifests in a folder [default: .yaml, .yml, .json]
    --dry-run                 # Only show what would be changed
    --output(-o): string      # Format: table, json, jsonl, yaml or jsonpath=TEMPLATE
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator migrate color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator migrate bootstrap output" [] {
    [ "yaml" "json" ]
  }

  def "nu-complete flux-operator migrate bootstrap progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator migrate bootstrap color" [] {
    [ "auto" "always" "never" ]
  }

  # Print a FluxInstance that takes over an installation of flux bootstrap
  export extern "flux-operator migrate bootstrap" [
    --from-git: directory     # Folder flux-system of the Git repository; its kustomization.yaml and patches are used unchanged
    --apply                   # Apply the instance in this process
    --output(-o): string@"nu-complete flux-operator migrate bootstrap output" # Format of the output
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --progress: string@"nu-complete flux-operator migrate bootstrap progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator migrate bootstrap color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator migrate owner dry_run" [] {
    [ "client" "server" ]
  }

  def "nu-complete flux-operator migrate owner color" [] {
    [ "auto" "always" "never" ]
  }

  # Move objects from one Flux owner to another, without loss
  export extern "flux-operator migrate owner" [
    --to: string              # The new owner, as KIND/NAME or NAMESPACE/KIND/NAME
    --object: string          # Only this object of the inventory, as KIND/NAME; repeatable
    --dry-run: string@"nu-complete flux-operator migrate owner dry_run" # Only show what would change; both values contact the API server
    --yes(-y)                 # Skip confirmation
    --confirm-context: string # Confirm a protected context by its name
    --from: path              # Read a dump instead of a cluster: a folder, a file, or - for stdin
    --output(-o): string      # Format: table, json, jsonl, yaml, name or jsonpath=TEMPLATE
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator migrate owner color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    owner: string             # The current owner, as KIND/NAME
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator migrate help" [
  ]

  # Print a FluxInstance that takes over an installation of flux bootstrap
  export extern "flux-operator migrate help bootstrap" [
  ]

  # Move objects from one Flux owner to another, without loss
  export extern "flux-operator migrate help owner" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator migrate help help" [
  ]

  def "nu-complete flux-operator explain output" [] {
    [ "text" "json" "yaml" ]
  }

  def "nu-complete flux-operator explain color" [] {
    [ "auto" "always" "never" ]
  }

  # Explain a kind, one of its fields, or a cause of `why`
  export extern "flux-operator explain" [
    --api-version: string     # Version of the kind [default: the stored one]
    --recursive               # Show the fields of all levels, without their descriptions
    --output(-o): string@"nu-complete flux-operator explain output" # Format of the output
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator explain color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...field: string          # Kind, and the path of a field in it; or a cause; any case, plural or short name
  ]

  def "nu-complete flux-operator distribution color" [] {
    [ "auto" "always" "never" ]
  }

  # Show, export and mirror the Flux versions that can be installed
  export extern "flux-operator distribution" [
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator distribution color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator distribution versions color" [] {
    [ "auto" "always" "never" ]
  }

  # List the Flux versions that can be installed
  export extern "flux-operator distribution versions" [
    --version: string         # Only versions in this range, for example 2.8.x or >=2.7
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --output(-o): string      # Format: table, wide, json, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .tag
    --filter: string          # Keep rows whose column has (=) or does not have (!=) a value, repeatable
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator distribution versions color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator distribution images variant" [] {
    [ "upstream-alpine" "enterprise-alpine" "enterprise-distroless" "enterprise-distroless-fips" ]
  }

  def "nu-complete flux-operator distribution images color" [] {
    [ "auto" "always" "never" ]
  }

  # List the container images of a Flux version
  export extern "flux-operator distribution images" [
    --version: string         # Version, or range whose newest version is used
    --registry: string        # Registry the images are pulled from
    --variant: string@"nu-complete flux-operator distribution images variant" # Variant of the images [default: that of the registry]
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --output(-o): string      # Format: table, wide, json, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .tag
    --filter: string          # Keep rows whose column has (=) or does not have (!=) a value, repeatable
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator distribution images color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator distribution export color" [] {
    [ "auto" "always" "never" ]
  }

  # Write the manifests of a Flux version into a folder
  export extern "flux-operator distribution export" [
    --version: string         # Version, or range whose newest version is written
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator distribution export color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    directory: path           # Folder to write to; created if it is missing
  ]

  def "nu-complete flux-operator distribution pull color" [] {
    [ "auto" "always" "never" ]
  }

  # Pull a distribution from a registry into a folder
  export extern "flux-operator distribution pull" [
    --output(-o): path        # Folder to write to; created if it is missing
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator distribution pull color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator distribution push color" [] {
    [ "auto" "always" "never" ]
  }

  # Push the manifests of a Flux version to a registry
  export extern "flux-operator distribution push" [
    --version: string         # Version, or range whose newest version is pushed
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator distribution push color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    reference: string         # Destination: oci://HOST/REPOSITORY:TAG
  ]

  def "nu-complete flux-operator distribution mirror variant" [] {
    [ "upstream-alpine" "enterprise-alpine" "enterprise-distroless" "enterprise-distroless-fips" ]
  }

  def "nu-complete flux-operator distribution mirror progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator distribution mirror color" [] {
    [ "auto" "always" "never" ]
  }

  # Copy the container images of a Flux version to another registry
  export extern "flux-operator distribution mirror" [
    --version: string         # Version, or range whose newest version is used
    --registry: string        # Registry the images come from
    --variant: string@"nu-complete flux-operator distribution mirror variant" # Variant of the images [default: that of the registry]
    --components: string      # Controllers to include [default: all]
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --from: path              # Read images and manifests from a file written by `distribution pack`
    --include-artifact        # Also copy the manifests, for spec.distribution.artifact
    --operator-image: string  # Also copy this operator image, as given to `distribution pack`
    --dry-run                 # Show what would be copied, and copy nothing
    --verify                  # Check every part at the destination, including parts of existing images; send missing parts again, and repeat the check
    --output(-o): string      # Format: table, wide, json, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .tag
    --filter: string          # Keep rows whose column has (=) or does not have (!=) a value, repeatable
    --progress: string@"nu-complete flux-operator distribution mirror progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator distribution mirror color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    destination: string       # Destination: HOST/PATH; each image is copied below it
  ]

  def "nu-complete flux-operator distribution check-mirror variant" [] {
    [ "upstream-alpine" "enterprise-alpine" "enterprise-distroless" "enterprise-distroless-fips" ]
  }

  def "nu-complete flux-operator distribution check-mirror color" [] {
    [ "auto" "always" "never" ]
  }

  # Check that a registry holds the images of a Flux version
  export extern "flux-operator distribution check-mirror" [
    --filename(-f): path      # File with the FluxInstance whose images to check; - reads standard input
    --include-artifact        # Also check the manifests, as copied by `distribution mirror`
    --operator-image: string  # Also check this operator image, as given to `distribution mirror`
    --version: string         # Version, or range whose newest version is used
    --registry: string        # Registry the images come from
    --variant: string@"nu-complete flux-operator distribution check-mirror variant" # Variant of the images [default: that of the registry]
    --components: string      # Controllers to include [default: all]
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --output(-o): string      # Format: table, wide, json, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .tag
    --filter: string          # Keep rows whose column has (=) or does not have (!=) a value, repeatable
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator distribution check-mirror color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    destination?: string      # The mirror: HOST/PATH
  ]

  def "nu-complete flux-operator distribution pack variant" [] {
    [ "upstream-alpine" "enterprise-alpine" "enterprise-distroless" "enterprise-distroless-fips" ]
  }

  def "nu-complete flux-operator distribution pack progress" [] {
    [ "auto" "plain" "json" "none" ]
  }

  def "nu-complete flux-operator distribution pack color" [] {
    [ "auto" "always" "never" ]
  }

  # Pack a Flux version into one file for places without a network
  export extern "flux-operator distribution pack" [
    --output(-o): path        # File to write
    --images                  # Also pack the images
    --operator-image: string  # Operator image that the operator's manifests use; --images also packs it
    --version: string         # Version, or range whose newest version is used
    --registry: string        # Registry the images come from
    --variant: string@"nu-complete flux-operator distribution pack variant" # Variant of the images [default: that of the registry]
    --components: string      # Controllers to include [default: all]
    --distribution: path      # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --distribution-artifact: path # Flux manifests to use instead of the embedded ones: a folder, an archive, an OCI image layout, an artifact in a registry, or an archive on standard input (`-`)
    --offline                 # Open no connection to a registry: use what is cached
    --no-cache                # Pull the artifact even if it is cached, and do not keep it
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --progress: string@"nu-complete flux-operator distribution pack progress" # How to show progress, on standard error
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator distribution pack color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator distribution verify color" [] {
    [ "auto" "always" "never" ]
  }

  # Verify a packed file, an artifact, a folder or an archive
  export extern "flux-operator distribution verify" [
    --key: path               # Public key in PEM
    --offline                 # Do not connect to a registry; verify the cached artifact
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator distribution verify color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    source: path              # Distribution to verify
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator distribution help" [
  ]

  # List the Flux versions that can be installed
  export extern "flux-operator distribution help versions" [
  ]

  # List the container images of a Flux version
  export extern "flux-operator distribution help images" [
  ]

  # Write the manifests of a Flux version into a folder
  export extern "flux-operator distribution help export" [
  ]

  # Pull a distribution from a registry into a folder
  export extern "flux-operator distribution help pull" [
  ]

  # Push the manifests of a Flux version to a registry
  export extern "flux-operator distribution help push" [
  ]

  # Copy the container images of a Flux version to another registry
  export extern "flux-operator distribution help mirror" [
  ]

  # Check that a registry holds the images of a Flux version
  export extern "flux-operator distribution help check-mirror" [
  ]

  # Pack a Flux version into one file for places without a network
  export extern "flux-operator distribution help pack" [
  ]

  # Verify a packed file, an artifact, a folder or an archive
  export extern "flux-operator distribution help verify" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator distribution help help" [
  ]

  def "nu-complete flux-operator artifact color" [] {
    [ "auto" "always" "never" ]
  }

  # Push, pull and compare OCI artifacts with manifests
  export extern "flux-operator artifact" [
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator artifact color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator artifact push color" [] {
    [ "auto" "always" "never" ]
  }

  # Push manifests as an OCI artifact for Flux
  export extern "flux-operator artifact push" [
    --path(-f): path          # Folder or file with the manifests
    --ignore-paths: string    # Patterns of files to exclude, as in .gitignore, separated by commas
    --source: string          # Address of the repository the manifests come from
    --revision: string        # Revision of the manifests in that repository: BRANCH@sha1:COMMIT
    --created: string         # Creation time in RFC 3339; without it the digest is reproducible
    --annotation(-a): string  # Additional annotations, repeatable
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator artifact push color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    reference: string         # Destination: oci://HOST/REPOSITORY:TAG
  ]

  def "nu-complete flux-operator artifact pull color" [] {
    [ "auto" "always" "never" ]
  }

  # Pull an OCI artifact and unpack it into a folder
  export extern "flux-operator artifact pull" [
    --output(-o): path        # Folder to unpack into; created if it is missing, files in it are overwritten
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator artifact pull color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    reference: string         # Artifact to pull: oci://HOST/REPOSITORY, with :TAG or @DIGEST, or oci-layout:DIR[:TAG]
  ]

  def "nu-complete flux-operator artifact diff color" [] {
    [ "auto" "always" "never" ]
  }

  # Compare local manifests with an OCI artifact
  export extern "flux-operator artifact diff" [
    --path(-f): path          # Folder or file with the manifests
    --ignore-paths: string    # Patterns of files to exclude, as in .gitignore, separated by commas
    --verify-key: path        # Public key that must verify a signature of the artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator artifact diff color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    reference: string         # The artifact: oci://HOST/REPOSITORY, with :TAG or @DIGEST, or oci-layout:DIR[:TAG]
  ]

  def "nu-complete flux-operator artifact tag color" [] {
    [ "auto" "always" "never" ]
  }

  # Add tags to an OCI artifact
  export extern "flux-operator artifact tag" [
    --tag: string             # Tag to add or move, repeatable
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator artifact tag color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    reference: string         # The artifact: oci://HOST/REPOSITORY, with :TAG or @DIGEST
  ]

  def "nu-complete flux-operator artifact list ready_status" [] {
    [ "True" "False" "Unknown" "Suspended" ]
  }

  def "nu-complete flux-operator artifact list color" [] {
    [ "auto" "always" "never" ]
  }

  # List the artifacts of a repository: their tags, digests and origins
  export extern "flux-operator artifact list" [
    --output(-o): string      # Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or custom-columns=HEADING:PATH,…
    --no-headers              # Omit column headers
    --sort-by: string         # Sort by a column, or by a JSONPath such as .metadata.name
    --filter: string          # Keep rows whose column has (=) or has not (!=) a value, repeatable
    --ready-status: string@"nu-complete flux-operator artifact list ready_status" # Keep rows of this readiness, repeatable
    --label-columns(-L): string # Add a column for a label, repeatable
    --show-labels             # Add a column with all labels
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator artifact list color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    reference: string         # The repository: oci://HOST/REPOSITORY
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator artifact help" [
  ]

  # Push manifests as an OCI artifact for Flux
  export extern "flux-operator artifact help push" [
  ]

  # Pull an OCI artifact and unpack it into a folder
  export extern "flux-operator artifact help pull" [
  ]

  # Compare local manifests with an OCI artifact
  export extern "flux-operator artifact help diff" [
  ]

  # Add tags to an OCI artifact
  export extern "flux-operator artifact help tag" [
  ]

  # List the artifacts of a repository: their tags, digests and origins
  export extern "flux-operator artifact help list" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator artifact help help" [
  ]

  def "nu-complete flux-operator rbac format" [] {
    [ "yaml" "json" "name" ]
  }

  def "nu-complete flux-operator rbac color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the Role or ClusterRole that a command line needs
  export extern "flux-operator rbac" [
    --user: string            # Bind the roles to this user
    --group: string           # Bind the roles to this group
    --service-account: string # Bind the roles to this ServiceAccount
    --name: string            # Name of the roles [default: flux-operator-COMMAND]
    --output(-o): string@"nu-complete flux-operator rbac format" # Format of the output
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator rbac color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    ...command: string        # The command line, without the program's name
  ]

  def "nu-complete flux-operator controller log_encoding" [] {
    [ "json" "console" ]
  }

  def "nu-complete flux-operator controller log_level" [] {
    [ "trace" "debug" "info" "error" ]
  }

  def "nu-complete flux-operator controller enable_leader_election" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator controller leader_election_release_on_cancel" [] {
    [ "true" "false" ]
  }

  def "nu-complete flux-operator controller color" [] {
    [ "auto" "always" "never" ]
  }

  # Run as the operator: reconcile the FluxInstance `flux` of one namespace
  export extern "flux-operator controller" [
    --concurrent: string      # Concurrent requests of one reconciliation, and concurrent reconciliations of ResourceSets
    --reporting-interval: string # How often the FluxReport is written when nothing changes
    --override-manager: string # Additional field manager whose fields are taken over, repeatable
    --default-service-account: string # Service account for ResourceSets that do not name one: their objects are applied with its rights in the namespace of the set
    --requeue-dependency: string # How soon the dependencies of a ResourceSet are checked again
    --watch-configs-label-selector: string # Labels of ConfigMaps and Secrets whose changes trigger a reconciliation of the ResourceSets that use them
    --min-retry-delay: string # Pause after a failure; it doubles with each further failure
    --max-retry-delay: string # Longest pause between two attempts
    --interval-jitter-percentage: string # Maximum change of intervals in percent
    --metrics-addr: string    # Address of /metrics; 0 disables it
    --health-addr: string     # Address of /healthz and /readyz; 0 disables it
    --log-encoding: string@"nu-complete flux-operator controller log_encoding" # Format of the log
    --log-level: string@"nu-complete flux-operator controller log_level" # Level of the log
    --enable-leader-election: string@"nu-complete flux-operator controller enable_leader_election" # Reconcile only while holding the lease
    --leader-election-release-on-cancel: string@"nu-complete flux-operator controller leader_election_release_on_cancel" # Release the lease on exit, so that the next operator can start at once
    --leader-election-lease-duration: string # Time without renewal after which another operator takes the lease
    --leader-election-renew-deadline: string # Time after which a holder that cannot renew the lease stops reconciling
    --leader-election-retry-period: string # Pause between attempts to acquire or renew the lease
    --verify-key: path        # Public key, a mounted file in a pod, that must verify a signature of every artifact, as made by `cosign sign --key`
    --registry-ca: path       # Certificates in PEM that registries must present, instead of the system's; for one registry only with its name in front, repeatable
    --registry-cert: path     # Client certificate in PEM, shown to registries that ask for one
    --registry-key: path      # Private key of the client certificate, in PEM
    --plain-http: string      # Registry to access over plain HTTP, repeatable; those on this machine always are
    --storage-path: string
    --default-workload-identity-service-account: string
    --web-server-port: string
    --web-server-only: string
    --web-config: string
    --web-config-secret-name: string
    --token-cache-max-size: string
    --token-cache-max-duration: string
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator controller color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator completion shell" [] {
    [ "bash" "zsh" "fish" "powershell" "elvish" "nushell" ]
  }

  def "nu-complete flux-operator completion color" [] {
    [ "auto" "always" "never" ]
  }

  # Print the completion script for a shell
  export extern "flux-operator completion" [
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator completion color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
    shell: string@"nu-complete flux-operator completion shell" # Shell to print the script for
  ]

  def "nu-complete flux-operator config color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the settings of this program
  export extern "flux-operator config" [
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator config color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  def "nu-complete flux-operator config view color" [] {
    [ "auto" "always" "never" ]
  }

  # Show the settings in use, and where each comes from
  export extern "flux-operator config view" [
    --contexts: string        # Ask several clusters at once: names and patterns of contexts with commas, !PATTERN to leave some out, groups of the configuration file, @FILE
    --clusters-from: string   # Ask the clusters of the ClusterProfiles in a context
    --cluster-selector: string # Labels of the ClusterProfiles; also -l where a command has no -l
    --cluster-timeout: string # How long each of several clusters may take to answer first
    --parallel: string        # How many of several clusters are asked at once
    --namespace(-n): string   # Namespace to work in [default: the context's, else all for lists and flux-system for everything else]
    --kubeconfig: path        # Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    --context: string         # Context of the kubeconfig to use
    --as: string              # User to impersonate
    --as-group: string        # Group to impersonate, repeatable
    --as-uid: string          # UID to impersonate
    --token: string           # Bearer token; visible to other users of this machine
    --server: string          # Address of the API server
    --kube-server: string     # Address of the API server, also where --server means something else
    --tls-server-name: string # Name the server's certificate is checked against
    --certificate-authority: path # File with the server's certificate authority
    --client-certificate: path # File with the client certificate
    --client-key: path        # File with the client certificate's private key
    --insecure-skip-tls-verify # Do not verify the server's certificate
    --request-timeout: string # Longest wait for one API call, as 10s, 1m or seconds; a credential plugin may prompt on its first run, so --timeout limits that run instead
    --timeout: string         # Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    --verbose(-v): string     # Increase verbosity (-v steps, -vv requests)
    --quiet(-q)               # Print only data, warnings and errors
    --color: string@"nu-complete flux-operator config view color" # When to use colour
    --help(-h)                # Print help (see more with '--help')
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator config help" [
  ]

  # Show the settings in use, and where each comes from
  export extern "flux-operator config help view" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator config help help" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator help" [
  ]

  # List Flux objects, components, history, inventory, inputs or suspended objects
  export extern "flux-operator help get" [
  ]

  # Show the controllers of an installation
  export extern "flux-operator help get components" [
  ]

  # Show what an instance or another owner reconciled, newest first
  export extern "flux-operator help get history" [
  ]

  # Show the input sets of a ResourceSet or of a provider
  export extern "flux-operator help get inputs" [
  ]

  # Show objects applied by an instance or another owner, with health and drift
  export extern "flux-operator help get inventory" [
  ]

  # Show suspended objects: since when, by whom, why, until when
  export extern "flux-operator help get suspended" [
  ]

  # Show what an object consists of, down to the pods
  export extern "flux-operator help tree" [
  ]

  # Show what manages an object and where its content comes from
  export extern "flux-operator help trace" [
  ]

  # Show what happened to Flux objects, oldest first
  export extern "flux-operator help events" [
  ]

  # Show effective Helm values, substitution variables and inputs
  export extern "flux-operator help debug" [
  ]

  # Show the consequences of deleting an object
  export extern "flux-operator help impact" [
  ]

  # Show the merged logs of Flux's controllers in chronological order
  export extern "flux-operator help logs" [
  ]

  # Write a self-contained HTML report
  export extern "flux-operator help report" [
  ]

  # Collect a support bundle without secrets
  export extern "flux-operator help bundle" [
  ]

  # Count Flux objects by kind: running, failing, suspended, storage
  export extern "flux-operator help stats" [
  ]

  # Show the whole installation on one screen
  export extern "flux-operator help status" [
  ]

  # Explain why objects are not healthy
  export extern "flux-operator help why" [
  ]

  # Check the cluster and the installation
  export extern "flux-operator help check" [
  ]

  # Show the versions of this program, the operator, Flux and the cluster
  export extern "flux-operator help version" [
  ]

  # Show who changed what, in chronological order
  export extern "flux-operator help what-changed" [
  ]

  # Create secrets and manifests from flags
  export extern "flux-operator help create" [
  ]

  # Create a FluxInstance from flags
  export extern "flux-operator help create instance" [
  ]

  # Create the secrets Flux needs
  export extern "flux-operator help create secret" [
  ]

  # Create a Secret with a user name and a password, or with a bearer token
  export extern "flux-operator help create secret basic-auth" [
  ]

  # Create a Secret with the credentials of a container registry
  export extern "flux-operator help create secret registry" [
  ]

  # Create a Secret with an SSH key and the host keys to trust
  export extern "flux-operator help create secret ssh" [
  ]

  # Create a Secret with the key of a GitHub App
  export extern "flux-operator help create secret githubapp" [
  ]

  # Create a Secret with the keys of an S3-compatible bucket
  export extern "flux-operator help create secret bucket" [
  ]

  # Create a Secret with the address of an HTTP proxy
  export extern "flux-operator help create secret proxy" [
  ]

  # Create a Secret with a certificate and key, a certificate authority, or both
  export extern "flux-operator help create secret tls" [
  ]

  # Create a Secret with keys that decrypt files encrypted by SOPS
  export extern "flux-operator help create secret sops" [
  ]

  # Build objects offline, exactly as a reconcile would apply them
  export extern "flux-operator help build" [
  ]

  # Show what an apply would change
  export extern "flux-operator help plan" [
  ]

  # Apply a FluxInstance or a ResourceSet and wait until it is ready
  export extern "flux-operator help apply" [
  ]

  # Reconcile now
  export extern "flux-operator help reconcile" [
  ]

  # Reconcile all Flux objects now, or those of some kinds
  export extern "flux-operator help reconcile all" [
  ]

  # Upgrade Flux to another version
  export extern "flux-operator help upgrade" [
  ]

  # Roll back Flux to a revision that was ready before
  export extern "flux-operator help rollback" [
  ]

  # Suspend reconciliation
  export extern "flux-operator help suspend" [
  ]

  # Resume reconciliation
  export extern "flux-operator help resume" [
  ]

  # Wait until objects are ready
  export extern "flux-operator help wait" [
  ]

  # Wait until a revision is fetched, applied and healthy everywhere
  export extern "flux-operator help wait revision" [
  ]

  # Delete objects, after showing what else is deleted with them
  export extern "flux-operator help delete" [
  ]

  # Install or upgrade the operator
  export extern "flux-operator help install" [
  ]

  # Uninstall Flux and its instance; `uninstall operator` removes the operator
  export extern "flux-operator help uninstall" [
  ]

  # Uninstall the operator
  export extern "flux-operator help uninstall operator" [
  ]

  # Print objects without the fields that the cluster added
  export extern "flux-operator help export" [
  ]

  # Print a report of the installation, computed from the cluster
  export extern "flux-operator help export report" [
  ]

  # Rewrite deprecated API versions of Flux in files
  export extern "flux-operator help migrate" [
  ]

  # Print a FluxInstance that takes over an installation of flux bootstrap
  export extern "flux-operator help migrate bootstrap" [
  ]

  # Move objects from one Flux owner to another, without loss
  export extern "flux-operator help migrate owner" [
  ]

  # Explain a kind, one of its fields, or a cause of `why`
  export extern "flux-operator help explain" [
  ]

  # Show, export and mirror the Flux versions that can be installed
  export extern "flux-operator help distribution" [
  ]

  # List the Flux versions that can be installed
  export extern "flux-operator help distribution versions" [
  ]

  # List the container images of a Flux version
  export extern "flux-operator help distribution images" [
  ]

  # Write the manifests of a Flux version into a folder
  export extern "flux-operator help distribution export" [
  ]

  # Pull a distribution from a registry into a folder
  export extern "flux-operator help distribution pull" [
  ]

  # Push the manifests of a Flux version to a registry
  export extern "flux-operator help distribution push" [
  ]

  # Copy the container images of a Flux version to another registry
  export extern "flux-operator help distribution mirror" [
  ]

  # Check that a registry holds the images of a Flux version
  export extern "flux-operator help distribution check-mirror" [
  ]

  # Pack a Flux version into one file for places without a network
  export extern "flux-operator help distribution pack" [
  ]

  # Verify a packed file, an artifact, a folder or an archive
  export extern "flux-operator help distribution verify" [
  ]

  # Push, pull and compare OCI artifacts with manifests
  export extern "flux-operator help artifact" [
  ]

  # Push manifests as an OCI artifact for Flux
  export extern "flux-operator help artifact push" [
  ]

  # Pull an OCI artifact and unpack it into a folder
  export extern "flux-operator help artifact pull" [
  ]

  # Compare local manifests with an OCI artifact
  export extern "flux-operator help artifact diff" [
  ]

  # Add tags to an OCI artifact
  export extern "flux-operator help artifact tag" [
  ]

  # List the artifacts of a repository: their tags, digests and origins
  export extern "flux-operator help artifact list" [
  ]

  # Print the Role or ClusterRole that a command line needs
  export extern "flux-operator help rbac" [
  ]

  # Run as the operator: reconcile the FluxInstance `flux` of one namespace
  export extern "flux-operator help controller" [
  ]

  # Print the completion script for a shell
  export extern "flux-operator help completion" [
  ]

  # Show the settings of this program
  export extern "flux-operator help config" [
  ]

  # Show the settings in use, and where each comes from
  export extern "flux-operator help config view" [
  ]

  # Print this message or the help of the given subcommand(s)
  export extern "flux-operator help help" [
  ]

}

export use completions *
