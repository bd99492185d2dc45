import { flushCompileCache } from 'node:module'

/** Worker processes preload this file. It writes Node's compile cache some time after their modules are loaded. */
for (const ms of [500, 2_000, 5_000]) setTimeout(flushCompileCache, ms).unref()
