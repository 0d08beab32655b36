"""What must survive: records, blocks, stream and consumer stores. The only room that keeps data on disk."""
