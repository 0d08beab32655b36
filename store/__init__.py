"""What must survive: records, blocks, stream and consumer stores. Only this room keeps data on the disk."""
