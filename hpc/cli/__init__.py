"""What the command lines of all tools share: parser, options, config files, completion."""
