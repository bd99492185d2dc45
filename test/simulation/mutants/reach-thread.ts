import { type Profiler, Session } from 'node:inspector/promises'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { absolutePath } from '../planted-source/changed-source.ts'
import type { Baseline, Reach, ReachQuestion } from './reach.ts'

/** A thread that plays scenarios, and answers which places of the source each of them executed, by the coverage that V8 counts. */

const { scenarios, places } = workerData as ReachQuestion
const placesOf = Map.groupBy(places.keys(), nth => pathToFileURL(absolutePath(places[nth]?.path ?? '')).href)

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

// V8 counts only what is loaded after its counters.
const { generate } = await import('../generate/generate.ts')
const { simulate } = await import('../simulate/simulate.ts')
Error.stackTraceLimit = 0

const loaded = await reachedSinceLast()
const baselines: Baseline[] = []
for (const { seed, only } of scenarios) {
  const begunAt = performance.now()
  const { events } = await simulate(generate(seed, only))
  const ms = performance.now() - begunAt
  baselines.push({ ms, events, reached: await reachedSinceLast() })
}
parentPort?.postMessage({ baselines, loaded } satisfies Reach)

async function reachedSinceLast(): Promise<number[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result.flatMap(({ url, functions }) =>
    (placesOf.get(url) ?? []).filter(nth => isExecuted(places[nth]?.start ?? 0, functions)),
  )
}

/** Whether the innermost range of the coverage around a place was executed. */
function isExecuted(start: number, functions: readonly Profiler.FunctionCoverage[]): boolean {
  const around = functions
    .flatMap(({ ranges }) => ranges)
    .filter(({ startOffset, endOffset }) => startOffset <= start && start < endOffset)
  const inner = around.toSorted((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset))[0]
  return inner !== undefined && inner.count > 0
}
