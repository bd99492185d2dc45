import type { Composition } from '../../../../shared/core/canvas/tree.ts'
import type { Job } from '../../scenario.ts'

/** Computes what a canvas must result in, by the product's rules and independently of the code. */

export type End = 'succeeded' | 'failed'
/** How each member of a canvas ended first, by nonce. */
export type Ends = ReadonlyMap<number, End>
export type Part = Composition<Job>

export function standingOf(part: Part, ends: Ends): End | 'open' {
  if ('leaf' in part) return ends.get(part.leaf.nonce) ?? 'open'
  if ('chain' in part)
    return part.chain.map(one => standingOf(one, ends)).find(one => one !== 'succeeded') ?? 'succeeded'
  if ('group' in part) return ofGroup(part.group, ends)
  const { group, then, onError } = part.chord
  const members = ofGroup(group, ends)
  if (members === 'open') return 'open'
  if (members === 'succeeded') return standingOf(then, ends)
  return onError && standingOf(onError, ends) === 'open' ? 'open' : 'failed'
}

function ofGroup(group: readonly Part[], ends: Ends): End | 'open' {
  const standings = group.map(one => standingOf(one, ends))
  if (standings.includes('open')) return 'open'
  return standings.includes('failed') ? 'failed' : 'succeeded'
}

/** The nonces of the members that may have been published by now. */
export function startable(part: Part, ends: Ends): number[] {
  if ('leaf' in part) return [part.leaf.nonce]
  if ('group' in part) return part.group.flatMap(one => startable(one, ends))
  if ('chain' in part) {
    const stop = part.chain.findIndex(one => standingOf(one, ends) !== 'succeeded')
    const reached = stop < 0 ? part.chain : part.chain.slice(0, stop + 1)
    return reached.flatMap(one => startable(one, ends))
  }
  const { group, then, onError } = part.chord
  const end = ofGroup(group, ends)
  const callback = end === 'succeeded' ? then : end === 'failed' ? onError : undefined
  return [...group, ...(callback ? [callback] : [])].flatMap(one => startable(one, ends))
}

/** The member whose failure failed a part: the first one in the order of the body. */
export function failure(part: Part, ends: Ends): number | undefined {
  if ('leaf' in part) return part.leaf.nonce
  const members =
    'chain' in part
      ? part.chain
      : 'group' in part
        ? part.group
        : [{ group: part.chord.group }, part.chord.then]
  const failed = members.find(one => standingOf(one, ends) === 'failed')
  return failed && failure(failed, ends)
}

/** What is handed on to a task: the value of a part, or the error of a group. */
export type Source =
  | { readonly kind: 'value'; readonly of: Part; readonly isSpread: boolean }
  | { readonly kind: 'error'; readonly of: Part }

/** The source of each member that is handed something, by nonce. */
export function sourcesIn(part: Part, given?: Source): Map<number, Source> {
  if ('leaf' in part) return new Map(given && !part.leaf.immutable ? [[part.leaf.nonce, given]] : [])
  if ('group' in part) return merged(part.group.map(one => sourcesIn(one, given)))
  if ('chain' in part) {
    return merged(
      part.chain.map((one, index) => {
        const before = part.chain[index - 1]
        return sourcesIn(one, before ? { kind: 'value', of: before, isSpread: false } : given)
      }),
    )
  }
  const { group, then, onError } = part.chord
  return merged([
    ...group.map(one => sourcesIn(one, given)),
    sourcesIn(then, { kind: 'value', of: { group }, isSpread: true }),
    ...(onError ? [sourcesIn(onError, { kind: 'error', of: { group } })] : []),
  ])
}

function merged(maps: ReadonlyArray<ReadonlyMap<number, Source>>): Map<number, Source> {
  return new Map(maps.flatMap(map => [...map]))
}

/** The value of a succeeded part, from the results of its members. */
export function partValue(part: Part, resultOf: (nonce: number) => unknown): unknown {
  if ('leaf' in part) return resultOf(part.leaf.nonce)
  if ('group' in part) return part.group.map(one => partValue(one, resultOf))
  const last = 'chain' in part ? part.chain.at(-1) : part.chord.then
  return last && partValue(last, resultOf)
}
