/** Ends a service when its cloud is gone. Node loads this file before the code of the service; no file imports it. */
process.on('disconnect', () => process.exit(0))
