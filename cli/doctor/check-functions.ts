import type { FunctionState, TriggerState } from '../aws/functions.ts'
import type { Context } from '../system/with-system.ts'
import type { Finding } from './finding.ts'
import { orFine, orUnchecked } from './unchecked.ts'

/** Whether the functions of the stack can run, and whether the triggers that call them read their queues and streams. */
export async function checkFunctions({ deployed }: Context): Promise<Finding[]> {
  if (!deployed) return []
  const { look, region } = deployed
  const functions = orUnchecked('functions', async () => {
    const states = await look.functions()
    const text = `${counted(states, 'function')} can run${runtimesOf(states)}`
    return orFine('functions', states.flatMap(findingsAbout), text)
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

type Told = Omit<Finding, 'check' | 'text'> & { readonly is: string }

/** The states in which a function needs attention. */
const STATES: Readonly<Record<string, Told>> = {
  Failed: {
    ...{ level: 'wrong', is: 'has failed and cannot run' },
    next: 'repair the cause, and deploy the stack again; a function that failed at its creation must be removed before',
  },
  Missing: {
    ...{ level: 'wrong', is: 'does not exist any more' },
    next: 'it was removed outside of the stack: deploy a change of it, or remove and add it in the app',
  },
  Pending: { level: 'notice', is: 'is being set up', next: 'wait until it is active' },
  Inactive: {
    ...{
      level: 'notice',
      is: 'is inactive: it was not called for so long that Lambda took back its resources',
    },
    next: 'the next call fails and sets it up again; a task is tried again by itself',
  },
}

/** The results of the last update in which a function needs attention. */
const UPDATES: Readonly<Record<string, Told>> = {
  Failed: {
    ...{ level: 'wrong', is: 'still runs its earlier code, because its last update has failed' },
    next: 'repair the cause, and deploy the stack again',
  },
  InProgress: { level: 'notice', is: 'is being updated', next: 'wait for the end of the update' },
}

function findingsAbout({ name, state, stateReason, update = '', updateReason }: FunctionState): Finding[] {
  const about = `the function ${name}`
  return [...told(STATES[state], about, stateReason), ...told(UPDATES[update], about, updateReason)].map(
    one => ({
      ...one,
      check: 'functions',
    }),
  )
}

function told(
  one: Told | undefined,
  about: string,
  reason: string | undefined,
): Array<Omit<Finding, 'check'>> {
  if (!one) return []
  const { is, ...rest } = one
  return [{ ...rest, text: `${about} ${is}${reason === undefined ? '' : `: ${reason}`}` }]
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
    return [{ level: 'notice', check, text: `${about} is not enabled yet (${state})`, next: 'wait a minute' }]
  if (state === 'Missing')
    return [
      { level: 'wrong', check, text: `${about} does not exist any more`, next: 'deploy a change of it' },
    ]
  if (!ENABLED.test(state))
    return [
      {
        level: 'wrong',
        check,
        text: `${about} is not enabled (${state})${because}`,
        next: `aws lambda update-event-source-mapping --uuid ${id} --enabled --region ${region}`,
      },
    ]
  if (!lastResult.startsWith('PROBLEM')) return []
  const next = `see the logs of the function ${calls}: what it reads waits until it succeeds`
  return [{ level: 'wrong', check, text: `${about} fails: ${lastResult}`, next }]
}
