"""The `zkconsumer` command: a file per subcommand."""
