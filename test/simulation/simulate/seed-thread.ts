import { parentPort, workerData } from 'node:worker_threads'
import { generate, type ScenarioKind } from '../generate/generate.ts'
import { simulate } from './simulate.ts'

/** A thread of `playSeeds`: plays each seed that it receives, and answers with the result. */

const { only } = workerData as { readonly only: ScenarioKind | undefined }

// Simulated code throws often, and nothing reads the stack traces.
Error.stackTraceLimit = 0

parentPort?.on('message', async (seed: number) =>
  parentPort?.postMessage(await simulate(generate(seed, only))),
)
