import type { Composition } from '../../../shared/core/canvas/tree.ts'
import type {
  Act,
  Callbacks,
  Conditions,
  FlowSetup,
  Job,
  Lost,
  Outage,
  Scenario,
  Script,
  Service,
  Step,
  TypeContent,
  TypeSetup,
  Weather,
  WorkerSetup,
} from '../scenario.ts'

/** A scenario as text: what goes wrong, which types and workers exist, and what happens when. */
export function sentencesOf(scenario: Scenario): string {
  const { seed, weather, calmAt, afterwardsMs, types, flows, workers, steps } = scenario
  const { trial, outages = [], lost, conditions = {} } = scenario
  return [
    `seed ${seed}${trial === undefined ? '' : `, a trial of ${trial}`}; ${weatherOf(weather)}`,
    `${timeOf(calmAt)}  from here on nothing goes wrong by chance`,
    ...outages.map(sentenceOfOutage),
    ...(lost ? [`the ${LOST[lost.what]} with number ${lost.nth} is lost`] : []),
    ...conditionsOf(conditions),
    ...types.map(sentenceOfType),
    ...flows.map(sentenceOfFlow),
    ...workers.map(sentenceOfWorker),
    ...steps.toSorted((a, b) => a.at - b.at).map(step => `${timeOf(step.at)}  ${sentenceOfStep(step)}`),
    ...(afterwardsMs > 0 ? [`once all tasks are over, time continues for ${afterwardsMs} ms`] : []),
  ].join('\n')
}

const MISFORTUNES: Readonly<Record<Exclude<keyof Weather, 'skewMs' | 'stepMs'>, string>> = {
  refused: 'calls are refused',
  answerLost: 'answers are lost',
  slow: 'calls are slow',
  death: 'calls kill their process',
  freeze: 'calls freeze their process',
  messageLost: 'messages are lost',
  messageDoubled: 'messages are doubled',
  messageLate: 'messages are late',
  streamGap: 'batches of the stream are lost',
  streamLate: 'batches of the stream are late',
  streamAgain: 'batches of the stream are delivered again',
  staleIndex: 'index entries are stale for seconds',
  scheduleOff: 'schedules fire late, twice or never',
}

function weatherOf({ skewMs, stepMs, ...shares }: Weather): string {
  const kinds = Object.entries(MISFORTUNES).flatMap(([kind, text]) => {
    const share = shares[kind as keyof typeof MISFORTUNES]
    return share > 0 ? [`${percent(share)} of ${text}`] : []
  })
  const all = [
    ...kinds,
    ...(skewMs > 0 ? [`clocks are wrong by up to ${skewMs} ms`] : []),
    ...(stepMs > 0 ? [`clocks jump every few seconds, by up to ${stepMs} ms`] : []),
  ]
  return all.length > 0 ? all.join(', ') : 'the weather is calm'
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`
}

const SERVICES: Readonly<Record<Service, string>> = {
  table: 'the table is out',
  queues: 'the queues are out',
  scheduler: 'the scheduler is out',
  functions: 'no function is invoked',
}

const LOST: Readonly<Record<Lost['what'], string>> = {
  message: 'message',
  batch: 'batch of the stream',
  minute: 'EventBridge schedule of a far minute',
  round: 'round of the sweeper',
}

function sentenceOfOutage({ service, from, ms }: Outage): string {
  return `${timeOf(from)}  ${SERVICES[service]} for ${ms} ms`
}

function conditionsOf(conditions: Conditions): string[] {
  const { wakers, executors, pageMax, sweptAtOnce, invocations, ttlLagMs } = conditions
  return [
    ...(wakers === undefined ? [] : [`at most ${wakers} invocations of the waker run at once`]),
    ...(executors === undefined ? [] : [`at most ${executors} invocations of each Lambda run at once`]),
    ...(pageMax === undefined ? [] : [`pages end after ${pageMax} entries`]),
    ...(sweptAtOnce === undefined ? [] : [`a round of the sweeper reads ${sweptAtOnce} tasks of each kind`]),
    ...(invocations === undefined ? [] : [`environments of functions end after ${invocations} invocations`]),
    ...(ttlLagMs === undefined ? [] : [`expired heads are deleted within ${ttlLagMs} ms`]),
  ]
}

const SERVERS: Readonly<Record<TypeSetup['servedBy'], string>> = {
  lambda: 'a Lambda function',
  workers: 'standalone workers',
  http: 'workers over HTTP',
}

function sentenceOfType({ type, servedBy, ...content }: TypeSetup): string {
  return `type ${type}: served by ${SERVERS[servedBy]}, ${contentOf(content)}`
}

function contentOf({ defaults, shards, limits, ordering }: TypeContent): string {
  const ordered = ordering ? `, by ${ordering}` : ''
  const limited = limits ? `, limits ${JSON.stringify(limits)}` : ''
  return `${shards} shards, defaults ${JSON.stringify(defaults)}${limited}${ordered}`
}

function sentenceOfFlow({ type, steps, onCancel, shards, defaults }: FlowSetup): string {
  return `flow ${type}: ${JSON.stringify(steps)}, on cancel ${onCancel}, ${shards} shards, defaults ${JSON.stringify(defaults)}`
}

function sentenceOfWorker({ kind, workerId, types, concurrency, version, startsAt }: WorkerSetup): string {
  const what = `${kind} worker ${workerId}${version === undefined ? '' : ` of version ${version}`}`
  return `${timeOf(startsAt)}  ${what} starts, for ${types.join(', ')}, ${concurrency} at once`
}

function sentenceOfStep(step: Step): string {
  switch (step.do) {
    case 'publish': {
      const { type, key, ...rest } = step.request
      return `publish ${type}:${key} ${JSON.stringify(rest)}; its runs: ${runsOf(step)}${callbacksOf(step)}`
    }
    case 'damage':
      return `${step.id} becomes a head ${step.how}`
    case 'ask':
      return `${step.operation} ${step.id}`
    case 'publish-canvas':
      return `publish canvas ${step.canvas}: ${textOfPart(step.composition)}`
    case 'cancel-canvas':
    case 'read-canvas':
      return `${step.do} ${step.canvas}`
    case 'operate-member':
      return `${step.operation} member ${step.leaf} of canvas ${step.canvas}`
    case 'put-schedule':
      return `put schedule ${step.schedule}: ${JSON.stringify(step.timing)}, missed ${JSON.stringify(step.missed)}, grace ${step.graceMs} ms, ${textOfJob(step.job)}`
    case 'pause-schedule':
    case 'resume-schedule':
    case 'remove-schedule':
    case 'trigger-schedule':
    case 'read-schedule':
      return `${step.do} ${step.schedule}`
    case 'resume':
      return `resume ${step.id} by ${step.actions.join(', or else ')}`
    case 'deploy-flow':
      return `deploy ${sentenceOfFlow(step.flow)}`
    case 'cancel':
    case 'remove':
    case 'read':
    case 'retry-callbacks':
      return `${step.do} ${step.id}`
    case 'check-requests':
      return `a caller sends requests at ${step.bounds} bounds of the API`
    case 'edit':
      return `read ${step.id}, and set its priority to ${step.priority} ${step.afterMs} ms later`
    case 'list':
      return `list the ${step.status} tasks of ${step.type}`
    case 'purge':
      return `purge the ${step.statuses.join(' or ')} tasks of ${step.type}`
    case 'restart':
      return `restart ${step.id}, clean ${JSON.stringify(step.clean)}`
    case 'patch':
      return `patch ${step.id} ${JSON.stringify(step.changes)}`
    case 'deploy':
    case 'put-type':
      return `${step.do} ${step.type} with ${contentOf(step)}`
    case 'move-type':
      return `deploy ${sentenceOfType(step)}`
    case 'pause-type':
    case 'resume-type':
      return `${step.do} ${step.type}`
    case 'withdraw':
      return `withdraw the handler of ${step.type} for ${step.forMs} ms`
    case 'stop-worker':
      return `stop ${step.workerId} within ${step.drainMs} ms, start it again ${step.backAfterMs} ms later`
    case 'kill-worker':
      return `kill ${step.workerId}, start it again ${step.backAfterMs} ms later`
    case 'freeze-worker':
      return `freeze ${step.workerId} for ${step.forMs} ms`
    case 'resize-worker':
      return `set the concurrency of ${step.workerId} to ${step.concurrency}`
  }
}

/** What each run of each piece does. */
function runsOf({ nonce, acts, pieces = {} }: Script): string {
  const runs = [['', acts] as const, ...Object.entries(pieces)].filter(([, of]) => of.length > 0)
  const texts = runs.map(([piece, of]) => `${piece && `${piece}: `}${textOfActs(of)}`)
  return `${texts.length > 0 ? texts.join('; ') : 'succeed'} (${nonce})`
}

function callbacksOf({ onSuccess = [], onError = [] }: Callbacks): string {
  const texts = [
    ...onSuccess.map(job => `; once it has succeeded: ${textOfJob(job)}`),
    ...onError.map(job => `; once it has failed: ${textOfJob(job)}`),
  ]
  return texts.join('')
}

function textOfJob(job: Job): string {
  const { type, nonce: _nonce, acts: _acts, pieces: _pieces, padding: _padding, ...rest } = job
  const { onSuccess: _then, onError: _else, ...given } = rest
  return `[${type} ${JSON.stringify(given)}; its runs: ${runsOf(job)}${callbacksOf(job)}]`
}

function textOfPart(part: Composition<Job>): string {
  if ('leaf' in part) return textOfJob(part.leaf)
  if ('chain' in part) return `chain(${part.chain.map(textOfPart).join(', ')})`
  if ('group' in part) return `group(${part.group.map(textOfPart).join(', ')})`
  const { group, then, onError } = part.chord
  const otherwise = onError ? `, or else ${textOfPart(onError)}` : ''
  return `chord(${group.map(textOfPart).join(', ')}; then ${textOfPart(then)}${otherwise})`
}

/** Equal acts in a row are written once, with their count. */
function textOfActs(acts: readonly Act[]): string {
  const texts = acts.map(textOfAct)
  const isFirst = (text: string, index: number) => text !== texts[index - 1]
  const starts = [...texts.keys()].filter(index => isFirst(texts[index] ?? '', index))
  const counted = starts.map((from, nth) => {
    const count = (starts[nth + 1] ?? texts.length) - from
    return count > 1 ? `${count} times ${texts[from]}` : texts[from]
  })
  return counted.join(', then ')
}

function textOfAct({ ms, end, until, delay, shop, repeats = [] }: Act): string {
  const later = until === undefined ? '' : `, but not before ${timeOf(until).trim()} s`
  const given = [delay && `a delay of ${delay}`, shop && `an input of shop ${shop}`].filter(Boolean)
  const repeated = repeats.map(report => `${report.end} ${report.nth}`).join(', ')
  const afterwards = repeated === '' ? '' : `, and then reports ${repeated}`
  return `${end}${given.length > 0 ? ` with ${given.join(' and ')}` : ''} after ${ms} ms${later}${afterwards}`
}

/** Seconds with three decimals, as in traces. */
function timeOf(ms: number): string {
  return (ms / 1_000).toFixed(3).padStart(10)
}
