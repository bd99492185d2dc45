import { parentPort } from 'node:worker_threads'
import { generate } from './generate.ts'
import { simulate } from './simulate.ts'

/** A thread of `playSeeds`. */

// Simulated code throws all the time; nobody reads where.
Error.stackTraceLimit = 0

parentPort?.on('message', async (seed: number) => parentPort?.postMessage(await simulate(generate(seed))))
