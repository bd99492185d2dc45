import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import type { ScenarioKind } from '../generate/generate.ts'
import { absolutePath, type ChangedSource } from './changed-source.ts'

/**
 * A thread that plays seeds on changed source. It answers each seed with the result of playing it. The thread changes a file while
 * it loads it, so the working copy stays as it is, and several threads can each play another change.
 */

const { changed, only } = workerData as { readonly changed: ChangedSource; readonly only?: ScenarioKind }
const texts = new Map(
  Object.entries(changed).map(([path, text]) => [pathToFileURL(absolutePath(path)).href, text]),
)

registerHooks({
  load: (url, context, nextLoad) => {
    const source = texts.get(url)
    return source === undefined
      ? nextLoad(url, context)
      : { format: 'module-typescript', source, shortCircuit: true }
  },
})

// The simulated code must be loaded after the hook is registered.
const { generate } = await import('../generate/generate.ts')
const { simulate } = await import('../simulate/simulate.ts')

// Simulated code throws often, and nothing reads the stack traces.
Error.stackTraceLimit = 0

parentPort?.on('message', async (seed: number) =>
  parentPort?.postMessage(await simulate(generate(seed, only))),
)
