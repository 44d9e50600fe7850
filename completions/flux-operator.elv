
set edit:completion:arg-completer[flux-operator] = { |@words|
    var index = (count $words)
    set index = (- $index 1)

    put (env _CLAP_IFS="\n" _CLAP_COMPLETE_INDEX=(to-string $index) COMPLETE="elvish" flux-operator -- $@words) | to-lines
}

