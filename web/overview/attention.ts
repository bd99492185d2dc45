import type { ApiSchedule } from '../../shared/api/schedules.ts'
import type { ApiType, ApiWorker, Counts } from '../../shared/api/types.ts'
import { counted } from '../parts/format.ts'

/** What an operator should look at, each with the reason in one sentence, and what can be done about it. */
export type Attention = {
  readonly id: string
  readonly tone: 'bad' | 'warn'
  readonly text: string
  readonly action:
    | { readonly kind: 'tasks'; readonly type: string; readonly status: 'failed' | 'ready' | 'compensating' }
    | { readonly kind: 'resume'; readonly type: string }
    | { readonly kind: 'schedules' }
}

export type Known = {
  readonly types: readonly ApiType[]
  readonly counts: ReadonlyMap<string, Counts>
  readonly schedules: readonly ApiSchedule[]
  readonly workers: readonly ApiWorker[]
}

/** The most urgent comes first: what stands still, then what has failed. */
export function attentionOf(known: Known): Attention[] {
  return [
    ...known.types.map(type => standstillOf(type, known)),
    ...known.schedules.map(failedTickOf),
    ...known.types.map(({ type }) => failuresOf(type, known.counts.get(type))),
  ].filter(item => item !== undefined)
}

function standstillOf({ type, kind, paused }: ApiType, { counts, workers }: Known): Attention | undefined {
  const ready = counts.get(type)?.ready ?? 0
  const waiting = counted(ready, 'task waits', 'tasks wait')
  if (paused)
    return {
      id: `paused ${type}`,
      tone: 'warn',
      text: `${type} is paused; ${waiting}.`,
      action: { kind: 'resume', type },
    }
  const isServed = kind !== 'http' || workers.some(({ types }) => types.includes(type))
  if (isServed || ready === 0) return undefined
  return {
    id: `unserved ${type}`,
    tone: 'bad',
    text: `No worker serves ${type}; ${waiting}. Start a worker of this type.`,
    action: { kind: 'tasks', type, status: 'ready' },
  }
}

function failedTickOf({ name, lastError }: ApiSchedule): Attention | undefined {
  if (!lastError) return undefined
  const text = `The last tick of the schedule ${name} published nothing: ${lastError.message}`
  return { id: `schedule ${name}`, tone: 'bad', text, action: { kind: 'schedules' } }
}

function failuresOf(type: string, { failed = 0 }: Partial<Counts> = {}): Attention | undefined {
  if (failed === 0) return undefined
  const text = `${counted(failed, 'task')} of ${type} ${failed === 1 ? 'has' : 'have'} failed.`
  return { id: `failed ${type}`, tone: 'bad', text, action: { kind: 'tasks', type, status: 'failed' } }
}
