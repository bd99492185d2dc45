import type { Act, Scenario, Step, TypeSetup, Weather, WorkerSetup } from './scenario.ts'

/** A scenario as text: what goes wrong, who is there, and what is done when. */
export function sentencesOf(scenario: Scenario): string {
  const { seed, weather, calmAt, afterwardsMs, types, workers, steps } = scenario
  return [
    `seed ${seed}; ${weatherOf(weather)}`,
    `${timeOf(calmAt)}  from here on nothing goes wrong by chance`,
    ...types.map(sentenceOfType),
    ...workers.map(sentenceOfWorker),
    ...steps.toSorted((a, b) => a.at - b.at).map(step => `${timeOf(step.at)}  ${sentenceOfStep(step)}`),
    ...(afterwardsMs > 0 ? [`once all is settled, time goes on for ${afterwardsMs} ms`] : []),
  ].join('\n')
}

const MISFORTUNES: Readonly<Record<Exclude<keyof Weather, 'skewMs'>, string>> = {
  refused: 'calls are refused',
  answerLost: 'answers are lost',
  slow: 'calls are slow',
  death: 'calls are the death of their process',
  freeze: 'calls freeze their process',
  messageLost: 'messages are lost',
  messageDoubled: 'messages are doubled',
  messageLate: 'messages are late',
  streamGap: 'batches of the stream are lost',
  streamLate: 'batches of the stream are late',
  streamAgain: 'batches of the stream come again',
  staleIndex: 'index entries are stale for seconds',
  scheduleOff: 'schedules fire late, twice or never',
}

function weatherOf({ skewMs, ...shares }: Weather): string {
  const kinds = Object.entries(MISFORTUNES).flatMap(([kind, text]) => {
    const share = shares[kind as keyof typeof MISFORTUNES]
    return share > 0 ? [`${percent(share)} of ${text}`] : []
  })
  const all = skewMs > 0 ? [...kinds, `clocks are wrong by up to ${skewMs} ms`] : kinds
  return all.length > 0 ? all.join(', ') : 'the weather is calm'
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`
}

const SERVERS: Readonly<Record<TypeSetup['servedBy'], string>> = {
  lambda: 'a Lambda function',
  workers: 'standalone workers',
  http: 'workers over HTTP',
}

function sentenceOfType({ type, servedBy, defaults, shards }: TypeSetup): string {
  return `type ${type}: served by ${SERVERS[servedBy]}, ${shards} shards, defaults ${JSON.stringify(defaults)}`
}

function sentenceOfWorker({ kind, workerId, types, concurrency, version, startsAt }: WorkerSetup): string {
  const what = `${kind} worker ${workerId}${version === undefined ? '' : ` of version ${version}`}`
  return `${timeOf(startsAt)}  ${what} starts, for ${types.join(', ')}, ${concurrency} at once`
}

function sentenceOfStep(step: Step): string {
  switch (step.do) {
    case 'publish': {
      const { type, key, ...rest } = step.request
      const runs = step.acts.length > 0 ? step.acts.map(textOfAct).join(', then ') : 'succeed'
      return `publish ${type}:${key} ${JSON.stringify(rest)}; its runs: ${runs}`
    }
    case 'cancel':
    case 'remove':
    case 'read':
      return `${step.do} ${step.id}`
    case 'list':
      return `list what of ${step.type} is ${step.status}`
    case 'restart':
      return `restart ${step.id}, clean ${JSON.stringify(step.clean)}`
    case 'patch':
      return `patch ${step.id} ${JSON.stringify(step.changes)}`
    case 'deploy':
      return `deploy ${step.type} with defaults ${JSON.stringify(step.defaults)}, ${step.shards} shards`
    case 'withdraw':
      return `withdraw the handler of ${step.type} for ${step.forMs} ms`
    case 'stop-worker':
      return `stop ${step.workerId} within ${step.drainMs} ms, start it again ${step.backAfterMs} ms later`
    case 'kill-worker':
      return `kill ${step.workerId}, start it again ${step.backAfterMs} ms later`
    case 'freeze-worker':
      return `freeze ${step.workerId} for ${step.forMs} ms`
    case 'resize-worker':
      return `let ${step.workerId} run ${step.concurrency} at once`
  }
}

function textOfAct({ ms, end }: Act): string {
  return `${end} after ${ms} ms`
}

/** Seconds, as in traces. */
function timeOf(ms: number): string {
  return (ms / 1_000).toFixed(3).padStart(10)
}
