import type { Guard } from '../core/change.ts'
import { SCHEMA_VERSION } from '../core/limits.ts'
import { type Expression, JOINED_BY_AND } from './expressions.ts'

const NOTHING_THERE = 'attribute_not_exists(#pk)'
const SAME_BIRTH = '#born = :born'
const SAME_REVISION = '#rev = :rev'
const STILL_LIVE = 'attribute_exists(#live.#fence)'
/** A revision that was read is of a known schema; a heartbeat names none and must not write into a newer item. */
const KNOWN_SCHEMA = '#v <= :schema'

/** The condition under which a guard holds. */
export function guardExpression(guard: Guard): Expression {
  switch (guard.kind) {
    case 'absent':
      return { text: NOTHING_THERE, names: { '#pk': 'pk' }, values: {} }
    case 'revision':
      return revisionGuard(guard)
    case 'live':
      return {
        text: [SAME_BIRTH, STILL_LIVE, KNOWN_SCHEMA].join(JOINED_BY_AND),
        names: { '#born': 'born', '#live': 'live', '#fence': String(guard.fence), '#v': 'v' },
        values: { ':born': guard.born, ':schema': SCHEMA_VERSION },
      }
  }
}

function revisionGuard({ born, revision, leases }: Extract<Guard, { kind: 'revision' }>): Expression {
  const leasesAsJudged = leases.map((_, index) => `#live.#fence${index}.#lease = :lease${index}`)
  const fences = leases.map(({ fence }, index) => [`#fence${index}`, String(fence)])
  return {
    text: [SAME_BIRTH, SAME_REVISION, ...leasesAsJudged].join(JOINED_BY_AND),
    names: {
      '#born': 'born',
      '#rev': 'rev',
      ...(leases.length > 0 && { '#live': 'live', '#lease': 'lease', ...Object.fromEntries(fences) }),
    },
    values: {
      ':born': born,
      ':rev': revision,
      ...Object.fromEntries(leases.map(({ leaseUntil }, index) => [`:lease${index}`, leaseUntil])),
    },
  }
}
