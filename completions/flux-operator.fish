complete --keep-order --exclusive --command flux-operator --arguments "(COMPLETE=fish flux-operator -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
