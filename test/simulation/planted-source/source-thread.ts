import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { absolutePath } from './changed-source.ts'
import type { SourcePlay } from './find-fault.ts'

/**
 * A thread that plays scenarios on changed source. It answers the number of each scenario with the result of playing it. The thread
 * changes a file while it loads it, so the working copy stays as it is, and several threads can each play another change.
 *
 * The invariants get the source as it is: a change must not change how it is judged.
 */

const { changed, scenarios } = workerData as SourcePlay
const texts = new Map(
  Object.entries(changed).map(([path, text]) => [pathToFileURL(absolutePath(path)).href, text]),
)
const SHARED = pathToFileURL(absolutePath('shared')).href
const INVARIANTS = pathToFileURL(absolutePath('test/simulation/invariants')).href
const UNCHANGED = '?unchanged'

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    const resolved = nextResolve(specifier, context)
    const by = context.parentURL ?? ''
    const isOfJudge = by.startsWith(INVARIANTS) || by.endsWith(UNCHANGED)
    return isOfJudge && resolved.url.startsWith(SHARED)
      ? { ...resolved, url: resolved.url + UNCHANGED }
      : resolved
  },
  load: (url, context, nextLoad) => {
    const source = texts.get(url)
    return source === undefined
      ? nextLoad(url, context)
      : { format: 'module-typescript', source, shortCircuit: true }
  },
})

// The simulated code must be loaded after the hooks are registered.
const { generate } = await import('../generate/generate.ts')
const { simulate } = await import('../simulate/simulate.ts')

// Simulated code throws often, and nothing reads the stack traces.
Error.stackTraceLimit = 0

parentPort?.on('message', async (nth: number) => {
  const { seed, only } = scenarios[nth] ?? { seed: nth }
  parentPort?.postMessage(await simulate(generate(seed, only)))
})
