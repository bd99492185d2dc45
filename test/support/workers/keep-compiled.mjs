import { flushCompileCache } from 'node:module'

/** Preloaded by worker processes: writes what Node has compiled, some time after their modules are loaded. */
for (const ms of [500, 2_000, 5_000]) setTimeout(flushCompileCache, ms).unref()
