import { BatonError } from '../../shared/core/values/values.ts'
import type { RefusedRead } from '../aws/call.ts'
import type { FunctionState, QueueState, TriggerState } from '../aws/resources.ts'
import type { Context } from '../connection/with-system.ts'
import { optionWords, shellWord } from '../terminal/io.ts'

/** Whether the last deployment of the stack has ended well, and which of its alarms have gone off. */
export async function checkStack({ deployed }: Context): Promise<Finding[]> {
  if (!deployed) return []
  return [deploymentOf(deployed), ...(await alarmsOf(deployed))]
}

type Deployed = NonNullable<Context['deployed']>

function deploymentOf({ stack, region, stackStatus }: Deployed): Finding {
  const check = 'stack'
  const text = `the stack ${stack} in ${region} is ${stackStatus}`
  if (/^(CREATE|UPDATE|IMPORT)_COMPLETE$/.test(stackStatus)) return fine(check, text)
  if (stackStatus.endsWith('_IN_PROGRESS')) return notice(check, text, 'wait for the end of the deployment')
  return wrong(check, text, 'see the events of the stack, repair the cause, and deploy again')
}

async function alarmsOf({ look }: Deployed): Promise<Finding[]> {
  const check = 'alarms'
  return orUnchecked(check, async () => {
    const findings = (await look.ringingAlarms()).map(({ name, reason }) => {
      const text = `the alarm ${name} has gone off${reason === '' ? '' : `: ${reason}`}`
      return wrong(check, text, 'docs/operations.md says what each alarm means')
    })
    return orFine(check, findings, 'no alarm of the stack has gone off')
  })
}

/** What a template with assets needs. Source: the rule `CheckBootstrapVersion` that aws-cdk-lib writes into each template. */
export const BOOTSTRAP_VERSION_MIN = 6

const BOOTSTRAP = 'bootstrap'

/** Whether the account and region have the CDK's bootstrap, which the next deployment needs. The stack itself runs without it. */
export async function checkBootstrap({ deployed, options }: Context): Promise<Finding[]> {
  if (!deployed) return []
  const { account, region, bootstrap, look } = deployed
  if (!bootstrap) return [fine(BOOTSTRAP, 'the stack does not say which bootstrap of the CDK it needs')]
  const place = `account ${account} in ${region}`
  const next = bootstrapCommand(bootstrap, `aws://${account}/${region}`, options.profile)
  return orUnchecked(BOOTSTRAP, async () => {
    const version = await look.bootstrapVersion()
    if (version === undefined) {
      const text = `the CDK's bootstrap is missing in ${place}: there is no parameter ${bootstrap}, so the next deployment fails`
      return [wrong(BOOTSTRAP, text, next)]
    }
    const found = `the CDK's bootstrap of ${place} has version ${version}`
    if (Number(version) < BOOTSTRAP_VERSION_MIN)
      return [wrong(BOOTSTRAP, `${found}; the next deployment needs ${BOOTSTRAP_VERSION_MIN}`, next)]
    return [fine(BOOTSTRAP, `${found} (needed: ${BOOTSTRAP_VERSION_MIN})`)]
  })
}

const USUAL_QUALIFIER = 'hnb659fds'

/** The parameter is `/cdk-bootstrap/QUALIFIER/version`. */
function bootstrapCommand(parameter: string, environment: string, profile: string | undefined): string {
  const [, qualifier = USUAL_QUALIFIER] = /^\/cdk-bootstrap\/([^/]+)\/version$/.exec(parameter) ?? []
  const options = optionWords({ qualifier: qualifier === USUAL_QUALIFIER ? undefined : qualifier, profile })
  return ['npx', 'cdk', 'bootstrap', environment, ...options].map(shellWord).join(' ')
}

/** Whether the functions of the stack can run, and whether the triggers that call them read their queues and streams. */
export async function checkFunctions({ deployed }: Context): Promise<Finding[]> {
  if (!deployed) return []
  const { look, region } = deployed
  const functions = orUnchecked('functions', async () => {
    const states = await look.functions()
    const text = `${counted(states, 'function')} can run${runtimesOf(states)}`
    return orFine('functions', states.flatMap(findingsAboutFunction), text)
  })
  const triggers = orUnchecked('triggers', async () => {
    const states = await look.triggers()
    const findings = states.flatMap(state => findingsAboutTrigger(state, region))
    const read = states.length === 1 ? 'reads its queue or stream' : 'read their queues and streams'
    return orFine('triggers', findings, `${counted(states, 'trigger')} ${read}`)
  })
  return (await Promise.all([functions, triggers])).flat()
}

function counted({ length }: readonly unknown[], noun: string): string {
  return `${length} ${noun}${length === 1 ? '' : 's'}`
}

function runtimesOf(states: readonly FunctionState[]): string {
  const runtimes = new Set(states.flatMap(({ runtime }) => (runtime === undefined ? [] : [runtime])))
  return runtimes.size === 0 ? '' : ` (${[...runtimes].sort().join(', ')})`
}

/** The states in which a function needs attention. The text of each continues `the function NAME`. */
const STATES: Readonly<Record<string, Finding>> = {
  Failed: wrong(
    'functions',
    'has failed and cannot run',
    'repair the cause, and deploy the stack again; first remove a function that failed at its creation',
  ),
  Missing: wrong(
    'functions',
    'does not exist any more',
    'it was removed outside of the stack: deploy a change of it, or remove and add it in the app',
  ),
  Pending: notice('functions', 'is being set up', 'wait until it is active'),
  Inactive: notice(
    'functions',
    'is inactive: it was not called for so long that Lambda took back its resources',
    'the next call fails and sets it up again; a task is tried again by itself',
  ),
}

const UPDATES: typeof STATES = {
  Failed: wrong(
    'functions',
    'still runs its earlier code, because its last update has failed',
    'repair the cause, and deploy the stack again',
  ),
  InProgress: notice('functions', 'is being updated', 'wait for the end of the update'),
}

function findingsAboutFunction(one: FunctionState): Finding[] {
  const { name, state, stateReason, update = '', updateReason } = one
  const about = (finding: Finding | undefined, reason: string | undefined) => {
    const because = reason === undefined ? '' : `: ${reason}`
    return finding ? [{ ...finding, text: `the function ${name} ${finding.text}${because}` }] : []
  }
  return [...about(STATES[state], stateReason), ...about(UPDATES[update], updateReason)]
}

/** A trigger that is enabled in an orderly way. */
const ENABLED = /^(Enabled|Updating)$/
const ON_THE_WAY = /^(Creating|Enabling)$/

function findingsAboutTrigger(trigger: TriggerState, region: string): Finding[] {
  const { id, calls, reads, state, stateReason, lastResult = '' } = trigger
  const check = 'triggers'
  const about = calls === '' ? `the trigger ${id}` : `the trigger of ${calls}, which reads ${reads},`
  const because = stateReason === undefined ? '' : `: ${stateReason}`
  if (ON_THE_WAY.test(state))
    return [notice(check, `${about} is not enabled yet (${state})`, 'wait a minute')]
  if (state === 'Missing') return [wrong(check, `${about} does not exist any more`, 'deploy a change of it')]
  const enabling = `aws lambda update-event-source-mapping --uuid ${id} --enabled --region ${region}`
  if (!ENABLED.test(state)) return [wrong(check, `${about} is not enabled (${state})${because}`, enabling)]
  if (!lastResult.startsWith('PROBLEM')) return []
  const next = `see the logs of the function ${calls}: what it reads waits until it succeeds`
  return [wrong(check, `${about} fails: ${lastResult}`, next)]
}

const QUEUES = 'queues'

/**
 * Whether the queues of the stack exist, and whether messages that were given up wait to be collected. `checkTypes` says whether tasks
 * wait for long: a long queue alone is not a fault.
 */
export async function checkQueues({ deployed }: Context): Promise<Finding[]> {
  if (!deployed) return []
  return orUnchecked(QUEUES, async () => {
    const queues = await deployed.look.queues()
    const sum = (of: 'waiting' | 'held') => queues.reduce((total, queue) => total + queue[of], 0)
    const text = `${queues.length} queues hold about ${sum('waiting')} messages, and ${sum('held')} more are being worked on`
    return orFine(QUEUES, queues.flatMap(findingsAboutQueue), text)
  })
}

function findingsAboutQueue({ name, exists, waiting, takesDeadLetters }: QueueState): Finding[] {
  if (!exists) {
    const next =
      'it was removed outside of the stack: deploy a change of it, or remove and add its type in the app'
    return [wrong(QUEUES, `the queue ${name} does not exist any more`, next)]
  }
  if (!takesDeadLetters || waiting === 0) return []
  const text = `about ${waiting} messages that were given up wait in ${name}`
  const next = 'the sweeper collects them every minute: when the number stays, see the logs of its function'
  return [notice(QUEUES, text, next)]
}

/** What a check has found. */
export type Finding = {
  /** `wrong` needs an operator now. `notice` may be intended. */
  readonly level: 'fine' | 'notice' | 'wrong'
  readonly check: string
  readonly text: string
  readonly next?: string
}

export function fine(check: string, text: string): Finding {
  return { level: 'fine', check, text }
}

export function notice(check: string, text: string, next: string): Finding {
  return { level: 'notice', check, text, next }
}

export function wrong(check: string, text: string, next: string): Finding {
  return { level: 'wrong', check, text, next }
}

/** Runs a check. What AWS refuses or does not answer is a finding, because the other checks can still help. */
async function orUnchecked(check: string, run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run()
  } catch (error) {
    if (!isFailedRead(error)) throw error
    const next =
      error.cause?.next ?? (error.code === 'unavailable' ? 'check the connection, and repeat' : undefined)
    const text = `${check} could not be checked: ${error.message}`
    return [{ level: 'notice', check, text, ...(next !== undefined && { next }) }]
  }
}

function isFailedRead(error: unknown): error is BatonError & { readonly cause?: RefusedRead } {
  return error instanceof BatonError && ['refused', 'unavailable'].includes(error.code)
}

/** The findings, or that nothing is wrong. */
export function orFine(check: string, findings: Finding[], text: string): Finding[] {
  return findings.length > 0 ? findings : [fine(check, text)]
}
