import type { Outcome } from '../../../shared/core/run/run.ts'
import { idempotencyKey, pieceOf } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { ClaimedTask } from '../../../shared/runtime/claim/claimed-task.ts'
import { type ClaimsAnswer, claimOverHttp } from '../../../shared/runtime/claim/http-claims.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import { describeHead } from '../../../shared/runtime/read/read.ts'
import type { BeatOutcome, EndOutcome, finishOverHttp } from '../../../shared/runtime/run/http-runs.ts'
import { beatOverHttp } from '../../../shared/runtime/run/http-runs.ts'
import { presentClaim } from '../../../shared/service/present/tasks.ts'
import type { Act, RepeatedReport, WorkerSetup } from '../scenario.ts'
import type { Api } from '../world/aws/api.ts'
import { limitsIn, liveWorkersIn, typesIn } from '../world/caches.ts'
import type { Process } from '../world/process.ts'
import type { World } from '../world/world.ts'
import { beginAct, durationMs, LATER_MS, recordEnd, type Script, scriptIn, stageAfter } from './handlers.ts'
import { type Host, supervise } from './host.ts'

/**
 * A program that works over HTTP: it claims, sends heartbeats, and reports ends. It does not always obey the
 * answers.
 */
type Client = {
  readonly process: Process
  readonly api: Api
  readonly world: World
  readonly setup: WorkerSetup
  readonly script: Script
  readonly finish: typeof finishOverHttp
}

const WAIT_MS = 5_000
const PAUSE_MS = 500
/** A report without an answer is sent at most this often. */
const TRIES_MAX = 4

export function hostHttpWorker(
  world: World,
  setup: WorkerSetup,
  tools: Pick<Client, 'api' | 'script' | 'finish'>,
): Host {
  const supervisor = supervise(world, setup, process => void work({ process, world, setup, ...tools }))
  return {
    kill: afterMs => supervisor.end(supervisor.current(), 'killed from outside', afterMs),
    stop: (_drainMs, afterMs) => supervisor.end(supervisor.current(), 'gone', afterMs),
    freeze: forMs => supervisor.current()?.freeze(forMs),
    resize: () => {},
  }
}

async function work(client: Client): Promise<void> {
  const { process, setup } = client
  let running = 0
  for (let request = 1; process.isAlive(); request++) {
    const limit = setup.concurrency - running
    let restMs = PAUSE_MS
    try {
      const { claims, retryAfterMs } = await claimUpTo(client, limit, `${process.name}-${request}`)
      restMs = retryAfterMs ?? PAUSE_MS
      for (const held of claims) {
        running += 1
        void runHeld(client, held).finally(() => {
          running -= 1
        })
      }
    } catch {
      // There was no answer. The request's id finds its claims again; otherwise their leases run out.
    }
    await process.clock.sleep(restMs)
  }
}

/** Claims up to `limit` tasks. An idle worker waits as long as the answer asks for. */
async function claimUpTo(
  { process, api, setup, world }: Client,
  limit: number,
  requestId: string,
): Promise<{ readonly claims: readonly ClaimedTask[]; readonly retryAfterMs?: number }> {
  if (limit <= 0) return { claims: [] }
  const answer = await api.request(process, 'claims', async (system, workers) =>
    claimed(
      world,
      process,
      system,
      await claimOverHttp(system, claimRequest(setup, limit, requestId), workers),
    ),
  )
  if (answer.ok) return answer
  return { claims: [], ...('retryAfterMs' in answer && { retryAfterMs: answer.retryAfterMs }) }
}

/** Measures the answer to a claim where tasks are large. */
async function claimed(
  { scenario, history, timeline }: World,
  { name }: Process,
  system: PlanningSystem,
  answer: ClaimsAnswer,
): Promise<ClaimsAnswer> {
  if (scenario.trial !== 'sizes' || !answer.ok || answer.claims.length === 0) return answer
  const readers = {
    typeOf: typesIn(system),
    liveWorkers: liveWorkersIn(system),
    limitHolding: limitsIn(system),
  }
  const claims = await Promise.all(
    answer.claims.map(async one => presentClaim(one, await describeHead(system, readers, one.task))),
  )
  const bytes = Buffer.byteLength(JSON.stringify(JSON.stringify({ claims })))
  history.record({ at: timeline.now(), by: name, what: 'claimed', tasks: claims.length, bytes })
  return answer
}

function claimRequest({ types, workerId, version }: WorkerSetup, limit: number, requestId: string) {
  return {
    types,
    claimer: { workerId, ...(version !== undefined && { version }) },
    limit,
    requestId,
    waitMs: WAIT_MS,
  }
}

/** A report of an act. Reports that repeat an act set no delay of their own. */
type ReportOfAct = RepeatedReport & Pick<Act, 'laterMs'>

async function runHeld(client: Client, { task, run, ...content }: ClaimedTask): Promise<void> {
  const { process, world, script, setup } = client
  const act = beginAct(world, process, script, {
    id: task.id,
    fence: run.fence,
    workerId: setup.workerId,
    input: content.input,
    previous: content.previous,
    params: content.params,
    piece: pieceOf(task),
    idempotencyKey: idempotencyKey(task),
  })
  const over = new AbortController()
  void beat(client, task, run.fence, over)
  await process.clock.sleep(
    act.end === 'hang' ? Number.MAX_SAFE_INTEGER : durationMs(world, act),
    act.end === 'deaf' ? undefined : over.signal,
  )
  if (act.end === 'crash') return process.kill('its program crashed')
  recordEnd(world, process, { id: task.id, fence: run.fence }, act)
  const reports: ReportOfAct[] = [{ ...act, nth: 0 }, ...(act.repeats ?? [])]
  for (const [index, report] of reports.entries()) {
    const isOnlyReport = reports
      .slice(0, index)
      .every(({ end, nth }) => end === report.end && nth === report.nth)
    const answer = await reportUntilAnswered(client, task, run.fence, {
      outcome: outcomeOf(report, task, { fence: run.fence, padding: scriptIn(content.input)?.padding }),
      isOnlyReport,
    })
    // Another run would have the same result.
    if (answer?.ok === false && answer.reason === 'no-room')
      await reportUntilAnswered(client, task, run.fence, { outcome: TOO_LARGE, isOnlyReport: false })
    if (act.repeats) await beatOnce(client, task, run.fence)
  }
  over.abort()
}

/** Sends heartbeats until the run is over, or until an answer says that the run is gone. */
async function beat(client: Client, task: Task, fence: number, over: AbortController): Promise<void> {
  const { process } = client
  while (!over.signal.aborted) {
    await process.clock.sleep(Math.min(task.options.heartbeatMs, task.options.leaseMs / 2), over.signal)
    if (over.signal.aborted) return
    const answer = await beatOnce(client, task, fence)
    if (answer && !answer.ok) over.abort()
  }
}

async function beatOnce(client: Client, task: Task, fence: number) {
  const { process, api } = client
  const reference = { taskId: task.id, born: task.born, fence }
  const answer = await api
    .request(process, `beat ${task.id}`, system => beatOverHttp(system, reference))
    .catch(() => undefined)
  if (answer) recordAnswer(client, task, fence, { reported: 'beat', isOnlyReport: false, answer })
  return answer
}

function outcomeOf(
  report: ReportOfAct,
  { id, stage }: Task,
  { fence, padding }: { readonly fence: number; readonly padding: unknown },
): Outcome {
  const { end, nth, laterMs = LATER_MS } = report
  const result = {
    by: fence,
    of: id,
    ...(typeof padding === 'string' && { padding }),
    ...(nth > 0 && { nth }),
  }
  const error = { name: 'Error', message: `it did not work${nth > 0 ? `, ${nth}` : ''}` }
  switch (end) {
    case 'fail':
      return { outcome: 'fail', error }
    case 'later':
      return { outcome: 'fail', error, retryInMs: laterMs }
    case 'fatal':
      return { outcome: 'fail', error, fatal: true }
    case 'release':
      return { outcome: 'release', delayMs: nth * 300 }
    case 'next':
      return { outcome: 'succeed', result, next: { stage: stageAfter(stage) } }
    default:
      return { outcome: 'succeed', result }
  }
}

const TOO_LARGE: Outcome = {
  outcome: 'fail',
  error: { name: 'InvalidResult', message: 'the flow has no room for the result' },
  fatal: true,
}

type Report = { readonly outcome: Outcome; readonly isOnlyReport: boolean }

async function reportUntilAnswered(
  client: Client,
  task: Task,
  fence: number,
  { outcome, isOnlyReport }: Report,
): Promise<EndOutcome | undefined> {
  const { process, api, finish } = client
  const reference = { taskId: task.id, born: task.born, fence }
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    try {
      const answer = await api.request(process, `${outcome.outcome} ${task.id}`, system =>
        finish(system, reference, outcome),
      )
      recordAnswer(client, task, fence, { reported: outcome, isOnlyReport, answer })
      return answer
    } catch {
      await process.clock.sleep(PAUSE_MS)
    }
  }
  return undefined
}

type Answered =
  | { readonly reported: Outcome; readonly answer: EndOutcome; readonly isOnlyReport: boolean }
  | { readonly reported: 'beat'; readonly answer: BeatOutcome; readonly isOnlyReport: false }

function recordAnswer(
  { world, process }: Client,
  { id, born }: Task,
  fence: number,
  answered: Answered,
): void {
  const { reported, answer, isOnlyReport } = answered
  const at = world.timeline.now()
  const refused = answer.ok ? {} : { refused: answer.reason }
  world.history.record({
    at,
    by: process.name,
    what: 'report-answer',
    id,
    born,
    fence,
    reported,
    isOnlyReport,
    ...refused,
  })
}
