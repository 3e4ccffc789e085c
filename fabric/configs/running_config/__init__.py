"""What EOS and NX-OS share: running-config text as a tree of lines, and the blocks that both write alike."""
