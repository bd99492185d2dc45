/** Loaded before the code of a service: nobody is left to work for once its cloud is gone. Never imported. */
process.on('disconnect', () => process.exit(0))
