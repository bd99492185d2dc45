import type { Item } from '../../../shared/aws/dynamo/documents.ts'
import { HEAD_SORT_KEY, TTL_ATTRIBUTE } from '../../../shared/aws/dynamo/keys.ts'
import { encodeMinute } from '../../../shared/aws/sqs/wire.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import { finishOverHttp } from '../../../shared/runtime/run/http-runs.ts'
import type { ItemChange } from '../../../shared/testing/table/contents.ts'
import { deployTypes } from '../actors/deployments.ts'
import { runJobs, runSweep, runWaker } from '../actors/functions.ts'
import { createScript } from '../actors/handlers.ts'
import { hostHttpWorker } from '../actors/http-worker.ts'
import { type Readers, startReaders } from '../actors/readers.ts'
import { hostStandalone } from '../actors/standalone.ts'
import { perform, type StepContext } from '../actors/steps.ts'
import { schedulesIn } from '../invariants/schedules/schedules.ts'
import type { PlantedFault } from '../planted/planted-fault.ts'
import { lineOf, stackOf } from '../report/trace-lines.ts'
import type { Scenario, Step } from '../scenario.ts'
import { createApi } from '../world/aws/api.ts'
import { createEventBus } from '../world/aws/event-bus.ts'
import { createSchedules, type Schedules } from '../world/aws/schedules.ts'
import { createServices, watchTypes } from '../world/aws/services.ts'
import { createStream } from '../world/aws/stream.ts'
import { createTable } from '../world/aws/table.ts'
import type { HistoryEvent } from '../world/history.ts'
import { isInLifecycle } from '../world/lifecycle-table.ts'
import type { Process } from '../world/process.ts'
import { createSandboxes } from '../world/sandboxes.ts'
import { seenAs } from '../world/seen-head.ts'
import { onUnhandledError } from '../world/unhandled-errors.ts'
import { createWorld, START, type World } from '../world/world.ts'
import { createJudge, type Verdict } from './judge.ts'

export type Played = {
  /** The first invariant that was broken; undefined when all held. */
  readonly broken: Verdict | undefined
  readonly events: number
  readonly virtualMs: number
}

const MINUTE_MS = 60_000
const SETTLING_MS = 45 * MINUTE_MS
const TICKING_ON_MS = 125_000
/**
 * When types that are still paused are first resumed after it is calm. A slow call may pause a type even later.
 */
const CALM_PAUSE_MS = 3_000
const RESUMING_EVERY_MS = 20_000
/** How long the planner may still read, and the survey may then take. */
const SURVEY_MS = 10 * MINUTE_MS
const TIMEOUT_MS = { machinery: 60_000, executor: 120_000 }

/**
 * Plays a scenario to its end, or until an invariant is broken. `trace` receives every event as a line of text.
 *
 * This is the entry of this room. `judge.ts` checks the events against the invariants. `play-seeds.ts` plays
 * many seeds on all cores, `player.ts` controls one thread of it, and `seed-thread.ts` is that thread's
 * program.
 */
export async function simulate(
  scenario: Scenario,
  {
    trace,
    planted,
  }: {
    readonly trace?: ((line: string) => void) | undefined
    readonly planted?: PlantedFault | undefined
  } = {},
): Promise<Played> {
  const judge = createJudge(scenario)
  const record = (event: HistoryEvent) => {
    trace?.(lineOf(event))
    judge.see(event)
  }
  const world = createWorld(scenario, {
    record,
    note: (at, by, text) => trace?.(lineOf({ at, by, what: 'note', text: text() })),
  })
  const unhandled = (error: unknown) => {
    const at = world.timeline.now()
    trace?.(lineOf({ at, by: 'the process', what: 'note', text: `CATCHES ${stackOf(error)}` }))
    judge.unhandled(error, at)
  }
  const stopListening = onUnhandledError(unhandled)
  try {
    const system = build(world, record, planted)
    everyMinute(world, at => judge.see({ at, by: 'the clock', what: 'minute' }))
    const isOver = () => judge.broken() !== undefined
    await world.timeline.run(START + scenario.calmAt, isOver)
    await world.timeline.run(
      START + scenario.calmAt + (scenario.settlingMs ?? SETTLING_MS),
      () => isOver() || (system.isIdle() && judge.isSettled(system.heads())),
    )
    if (!isOver() && scenario.hasReaders) await survey(world, system, isOver)
    if (!isOver() && scenario.afterwardsMs > 0) {
      await world.timeline.run(world.timeline.now() + scenario.afterwardsMs, isOver)
    }
    judge.end(system.heads(), world.timeline.now())
  } catch (error) {
    unhandled(error)
  } finally {
    stopListening()
  }
  return { broken: judge.broken(), events: world.timeline.count(), virtualMs: world.timeline.now() - START }
}

/** Lets the planner read all changes, and then asks about everything. */
async function survey(
  { timeline, history }: World,
  system: SimulatedSystem,
  isOver: () => boolean,
): Promise<void> {
  await timeline.run(timeline.now() + SURVEY_MS, () => isOver() || system.isStreamIdle())
  if (system.isStreamIdle()) history.record({ at: timeline.now(), by: 'the clock', what: 'at-rest' })
  let isSurveyed = false
  void system.surveyAll().then(() => {
    isSurveyed = true
  })
  await timeline.run(timeline.now() + SURVEY_MS, () => isOver() || isSurveyed)
}

/** The sort keys of inputs, handed-on values, callbacks, results and records of runs. */
const BODY = /^(in|prev|call|out|run|tree)#/

function bodyEvent(
  { key, after }: Pick<ItemChange, 'key' | 'after'>,
  seen: Pick<HistoryEvent, 'at' | 'by'>,
): HistoryEvent {
  const expiresAt = after && Number(after[TTL_ATTRIBUTE]) * 1_000
  return { ...seen, what: 'body', id: key.pk, ref: key.sk, expiresAt }
}

function everyMinute({ timeline }: Pick<World, 'timeline'>, happen: (at: number) => void): void {
  timeline.at(timeline.now() + MINUTE_MS, () => {
    happen(timeline.now())
    everyMinute({ timeline }, happen)
  })
}

/**
 * Removes all schedules after `calmAt`, because they would tick for ever. Until then a lost tick must be
 * repaired.
 */
function closingSteps({ steps, calmAt }: Scenario): Step[] {
  const at = calmAt + TICKING_ON_MS
  return schedulesIn(steps).map(schedule => ({ at, do: 'remove-schedule', schedule }))
}

/** A simulated system with its callers and workers. */
type SimulatedSystem = {
  heads(): Iterable<Head>
  /** Whether every step is done, every caller has its answer, and every purge is over. */
  isIdle(): boolean
  /** Whether the planner has read all changes, and has published their events. */
  isStreamIdle(): boolean
  /** Asks about all tasks and types. See `Readers`. */
  surveyAll(): Promise<void>
}

/** Builds the simulated services, starts the functions and the workers, and puts every step on the timeline. */
function build(
  world: World,
  record: (event: HistoryEvent) => void,
  planted: PlantedFault | undefined,
): SimulatedSystem {
  const { scenario, timeline } = world
  let schedules: Schedules | undefined
  let readers: Readers | undefined
  const types = watchTypes(world)
  const table = createTable(world, (change, by) => {
    const event = eventOf(change, by)
    if (event) record(event)
    if (event?.what === 'write') readers?.see(event)
    types.see(change)
    stream.push(change)
  })
  const eventOf = ({ key, before, after }: ItemChange, by: Process | undefined): HistoryEvent | undefined => {
    const at = timeline.now()
    if (BODY.test(key.sk)) return bodyEvent({ key, after }, { at, by: by?.name ?? 'the table' })
    if (key.sk !== HEAD_SORT_KEY) return undefined
    if (table.isDamaged(key.pk)) return damagedEvent(key.pk, after, { at, by })
    if (!after || !by) return { at, by: 'the table', what: 'expired', id: key.pk }
    const [seenBefore, seenAfter] = [before && seenAs(table.headIn(before)), seenAs(table.headIn(after))]
    return {
      at,
      by: by.name,
      what: 'write',
      before: seenBefore,
      after: seenAfter,
      clock: by.latestShown(),
      ...(!isInLifecycle(seenBefore, seenAfter) && { isNotInLifecycle: true }),
    }
  }
  const damagedEvent = (
    id: string,
    after: Item | undefined,
    { at, by }: { readonly at: number; readonly by: Process | undefined },
  ): HistoryEvent | undefined => {
    // What the other program writes is a step of the scenario.
    if (!by) return undefined
    const seen = { at, by: by.name, id }
    return after?.state === 'removed'
      ? { ...seen, what: 'buried', after: seenAs(table.headIn(after)) }
      : { ...seen, what: 'touched' }
  }
  const services = createServices(world, {
    table,
    schedules: () => {
      if (!schedules) throw new Error('no scheduler yet')
      return schedules
    },
  })
  const systemFor = (process: Process) => {
    const system = services.systemFor(process)
    return planted ? planted.spoil(system, table) : system
  }
  const machinery = createSandboxes(world, { timeoutMs: TIMEOUT_MS.machinery, systemFor })
  const executors = createSandboxes(world, { timeoutMs: TIMEOUT_MS.executor, systemFor })
  const events = createEventBus(world, machinery)
  const stream = createStream(world, { sandboxes: machinery, headsOf: services.headsOf, events })
  const script = createScript()
  const api = createApi(machinery)
  schedules = createSchedules(world, minute => services.wakes.send(encodeMinute({ minute }), 0))
  schedules.everyMinute(() => void runSweep(world, machinery))
  runWaker(world, services.wakes, machinery)
  runJobs(world, services.jobs, machinery)

  const deployments = deployTypes(world, { services, executors, script })
  const closing = closingSteps(scenario)
  let underWay = scenario.steps.length + closing.length
  const done = () => {
    underWay -= 1
  }
  const recordCheck: StepContext['record'] = (request, outcome) =>
    record({ at: timeline.now(), by: 'the API', what: 'checked', request, ...outcome })
  const withdraw = (type: string, forMs: number) => {
    if (deployments.withdraw(type, forMs, done)) underWay += 1
  }
  const hosts = new Map(
    scenario.workers.map(setup => [
      setup.workerId,
      setup.kind === 'http'
        ? hostHttpWorker(world, setup, { api, script, finish: planted?.finish ?? finishOverHttp })
        : hostStandalone(world, setup, { systemFor, inboxFor: services.inboxFor, script }),
    ]),
  )
  const context: StepContext = {
    api,
    hosts,
    withdraw,
    serveBy: deployments.serveBy,
    done,
    record: recordCheck,
    damage: table.damage,
  }
  const play = (step: Step) => timeline.at(START + step.at, () => perform(world, context, step))
  for (const step of [...scenario.steps, ...closing]) play(step)
  const isOver = () => underWay === 0 && types.paused().length === 0
  const resumeAll = (at: number) =>
    timeline.at(START + at, () => {
      if (isOver()) return
      for (const type of types.paused()) {
        underWay += 1
        perform(world, context, { at, do: 'resume-type', type })
      }
      resumeAll(at + RESUMING_EVERY_MS)
    })
  if (scenario.steps.some(step => step.do === 'pause-type')) resumeAll(scenario.calmAt + CALM_PAUSE_MS)
  readers = startReaders(world, { api, table })
  return {
    heads: table.heads,
    isIdle: () => isOver() && !types.isPurging(),
    isStreamIdle: () => stream.isIdle() && events.isIdle(),
    surveyAll: readers.surveyAll,
  }
}
