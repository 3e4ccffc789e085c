"""Commands for contributors: locks, licences, images, version ranges. Not shipped."""
