import { SCHEMA_VERSION } from '../../../core/bounds.ts'
import type { Guard } from '../../../core/change/change.ts'
import { type Expression, JOINED_BY_AND } from '../expressions.ts'

const NOTHING_THERE = 'attribute_not_exists(#pk)'
const SAME_BIRTH = '#born = :born'
const SAME_REVISION = '#rev = :rev'
const STILL_LIVE = 'attribute_exists(#live.#fence)'
/** A path into a map requires that the map exists. Heads that were written before counted changes existed may lack it. */
const HAS_ENDED_RUNS = 'attribute_exists(#ended)'
/** The guards of a live run name no revision. They must not let older code change an item of newer code. */
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
        ...liveNames(guard),
      }
    case 'counted':
      return {
        text: [SAME_BIRTH, STILL_LIVE, HAS_ENDED_RUNS, KNOWN_SCHEMA].join(JOINED_BY_AND),
        ...liveNames(guard, { '#ended': 'ended' }),
      }
  }
}

function liveNames(
  { born, fence }: Extract<Guard, { fence: number }>,
  more: Readonly<Record<string, string>> = {},
): Pick<Expression, 'names' | 'values'> {
  return {
    names: { '#born': 'born', '#live': 'live', '#fence': String(fence), '#v': 'v', ...more },
    values: { ':born': born, ':schema': SCHEMA_VERSION },
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
