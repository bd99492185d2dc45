import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { generate, type ScenarioKind } from '../generate/generate.ts'
import { simulate } from './simulate.ts'

/** A thread of `playSeeds`. */

// Whatever else runs here goes first. On Linux this is said of the thread alone, elsewhere of its process.
setPriority(constants.priority.PRIORITY_LOW)
const { only } = workerData as { readonly only: ScenarioKind | undefined }

// Simulated code throws all the time; nobody reads where.
Error.stackTraceLimit = 0

parentPort?.on('message', async (seed: number) =>
  parentPort?.postMessage(await simulate(generate(seed, only))),
)
