import { type Conditions, type Context, conditionsHold, wildcard } from './conditions.ts'

/** A statement of a policy with its intrinsics resolved. */
export type Statement = {
  readonly Effect: string
  readonly Action?: string | readonly string[]
  readonly NotAction?: string | readonly string[]
  readonly Resource?: string | readonly string[]
  readonly NotResource?: string | readonly string[]
  readonly Condition?: Conditions
}

/** An action that a call needs. A request that does not name its resource, such as GetRecords, matches every resource. */
export type RequestedAction = {
  readonly action: string
  readonly resource: string | undefined
  readonly context?: Context
}

export type Policy = {
  /** Whether a statement allows the action and none denies it. */
  allows(requested: RequestedAction): boolean
}

const NOTHING: Context = () => undefined

/** The cache has at most this many pairs of action and resource: new schedules bring new names without end. */
const CACHED_PAIRS_MAX = 1_000

/** Combines all policies of a role. It caches the statements for an action and a resource, and evaluates conditions per request. */
export function compilePolicy(statements: readonly Statement[]): Policy {
  const cached = new Map<string, readonly Statement[]>()

  function statementsFor({ action, resource }: RequestedAction): readonly Statement[] {
    const name = `${action} ${resource}`
    const known = cached.get(name)
    if (known) return known
    const found = statements.filter(statement => covers(statement, action, resource))
    if (cached.size >= CACHED_PAIRS_MAX) cached.clear()
    cached.set(name, found)
    return found
  }

  return {
    allows: requested => {
      const { context = NOTHING } = requested
      const covering = statementsFor(requested)
      const isDenied = covering.some(
        one => one.Effect === 'Deny' && conditionsHold(one.Condition ?? {}, context, { ifUnknown: false }),
      )
      if (isDenied) return false
      return covering.some(
        one => one.Effect === 'Allow' && conditionsHold(one.Condition ?? {}, context, { ifUnknown: true }),
      )
    },
  }
}

function covers(statement: Statement, action: string, resource: string | undefined): boolean {
  const { Action, NotAction, Resource, NotResource } = statement
  const coversAction = Action
    ? matchesPattern(Action, action, 'is')
    : NotAction && !matchesPattern(NotAction, action, 'is')
  if (!coversAction) return false
  if (resource === undefined) return true
  return Resource
    ? matchesPattern(Resource, resource, 's')
    : NotResource !== undefined && !matchesPattern(NotResource, resource, 's')
}

function matchesPattern(patterns: string | readonly string[], text: string, flags: string): boolean {
  return [patterns].flat().some(pattern => wildcard(pattern, flags).test(text))
}

/** Creates the value at its first use, once. */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
