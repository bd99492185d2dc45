import { allJobs, callbacksIn } from '../../jobs-in.ts'
import type { Job, Scenario } from '../../scenario.ts'
import { type Invariant, onEachWrite, type Write } from '../invariant.ts'
import { nonceOf } from './tags.ts'

/** Promises about callbacks with keys of their own, which may be refused, and about tasks that owe callbacks. */
export const KEYED_CALLBACK_INVARIANTS: readonly Invariant[] = [
  {
    name: 'no head is deleted while its task owes callbacks',
    watch: () => {
      const owing = new Set<string>()
      return {
        on: event => {
          if (event.what === 'write') {
            if (event.after.owes) owing.add(event.after.id)
            else owing.delete(event.after.id)
          }
          return event.what === 'expired' && owing.has(event.id)
            ? `${event.id} is deleted, although it owes callbacks`
            : undefined
        },
      }
    },
  },
  onEachWrite('no new birth replaces a task that owes callbacks', ({ before, after }) =>
    before?.owes && before.born !== after.born
      ? `${after.operation} replaced ${after.id}, which owed callbacks`
      : undefined,
  ),
  {
    name: 'a callback that restarts the task of a given key does so once for each end, and is owed until then',
    watch: scenario => {
      const restarting = restartingCallbacks(scenario)
      if (restarting.size === 0) return {}
      const owed = createOwedRestarts(restarting)
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after } = event
          const again = owed.see(event)
          if (again !== undefined) return `${after.id} is restarted once more by the callback ${again}`
          const lost = before?.owes && !after.owes ? owed.settle(after.id) : undefined
          return lost === undefined || after.state === 'removed'
            ? undefined
            : `${after.id} no longer owes its callback ${lost}, which has not restarted its task`
        },
      }
    },
  },
]

/** The restarts that each task owes, as nonces of the callbacks. */
function createOwedRestarts(restarting: ReadonlyMap<number, Owned>) {
  const owed = new Map<string, Set<number>>()
  return {
    /** Returns the callback that a write is caused by and that no end owes. */
    see: (write: Write): number | undefined => {
      const { before, after } = write
      const nonce = nonceOf(after)
      const isBirth = before?.born !== after.born && nonce !== undefined && restarting.has(nonce)
      const wasOwed = isBirth && [...owed.values()].filter(nonces => nonces.delete(nonce)).length > 0
      if (after.owes && !before?.owes) owed.set(after.id, new Set(owedBy(write, restarting)))
      return isBirth && !wasOwed && restarting.get(nonce)?.isAlone ? nonce : undefined
    },
    /** A callback that the task still owes, and owes no longer from now on. */
    settle: (id: string): number | undefined => {
      const [lost] = owed.get(id) ?? []
      owed.delete(id)
      return lost
    },
  }
}

type Owned = {
  readonly parent: number
  readonly when: 'onSuccess' | 'onError'
  /** Whether no other callback names the same key. A task remembers only the last callback that restarted it. */
  readonly isAlone: boolean
}

/** The callbacks that restart the task of their key, by nonce, with the task that owns them. */
function restartingCallbacks({ steps }: Scenario): Map<number, Owned> {
  const parents = [...steps.filter(step => step.do === 'publish'), ...allJobs(steps)]
  const keys = parents.flatMap(callbacksIn).map(({ key }) => key)
  const found = new Map<number, Owned>()
  for (const parent of parents) {
    for (const job of callbacksIn(parent).filter(isRestarting)) {
      const when = parent.onSuccess?.includes(job) ? 'onSuccess' : 'onError'
      const isAlone = keys.filter(key => key === job.key).length === 1
      found.set(job.nonce, { parent: parent.nonce, when, isAlone })
    }
  }
  return found
}

function isRestarting({ key, ifExists }: Job): boolean {
  return key !== undefined && ifExists === 'restart'
}

function owedBy({ after }: Write, restarting: ReadonlyMap<number, Owned>): number[] {
  const when = after.state === 'succeeded' ? 'onSuccess' : 'onError'
  const own = nonceOf(after)
  return [...restarting].flatMap(([nonce, owned]) =>
    owned.parent === own && owned.when === when ? [nonce] : [],
  )
}
