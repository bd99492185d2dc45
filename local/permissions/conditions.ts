/** The values of a request for a condition key; undefined if the request has none. */
export type Context = (key: string) => readonly string[] | undefined

/** The `Condition` of a statement: the wanted values by operator and key. */
export type Conditions = Readonly<Record<string, Readonly<Record<string, unknown>>>>

type Match = (given: string, wanted: string) => boolean

/** The condition keys that are emulated, in lower case. A condition on another key cannot be evaluated. */
const KNOWN_KEYS = new Set(['dynamodb:leadingkeys', 'dynamodb:attributes', 'iam:passedtoservice'])

const MATCHES: Readonly<Record<string, Match>> = {
  StringEquals: (given, wanted) => given === wanted,
  StringLike: (given, wanted) => wildcard(wanted).test(given),
  ArnEquals: (given, wanted) => wildcard(wanted).test(given),
  ArnLike: (given, wanted) => wildcard(wanted).test(given),
}

const NEGATED: Readonly<Record<string, Match>> = {
  StringNotEquals: (given, wanted) => given !== wanted,
  StringNotLike: (given, wanted) => !wildcard(wanted).test(given),
}

const compiled = new Map<string, RegExp>()

/** The RegExp of an IAM pattern: `*` matches any text, `?` any one character. */
export function wildcard(pattern: string, flags = 's'): RegExp {
  const name = `${flags} ${pattern}`
  const known = compiled.get(name)
  if (known) return known
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
  const made = new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, flags)
  compiled.set(name, made)
  return made
}

/** The operators and keys of the conditions that cannot be evaluated here. */
export function unknownConditions(conditions: Conditions): string[] {
  return Object.entries(conditions).flatMap(([operator, keys]) =>
    Object.keys(keys)
      .filter(key => !isKnown(operator, key))
      .map(key => `${operator} ${key}`),
  )
}

/** Whether all conditions hold. `ifUnknown` is the result of a condition that cannot be evaluated. */
export function conditionsHold(
  conditions: Conditions,
  context: Context,
  { ifUnknown }: { readonly ifUnknown: boolean },
): boolean {
  return Object.entries(conditions).every(([operator, keys]) =>
    Object.entries(keys).every(([key, wanted]) =>
      isKnown(operator, key) ? holds(operator, context(key), listOf(wanted)) : ifUnknown,
    ),
  )
}

function isKnown(operator: string, key: string): boolean {
  const { name } = partsOf(operator)
  return KNOWN_KEYS.has(key.toLowerCase()) && (name in MATCHES || name in NEGATED)
}

function partsOf(operator: string) {
  const [set, rest] = operator.includes(':') ? operator.split(':') : [undefined, operator]
  const isOptional = rest?.endsWith('IfExists') ?? false
  return { set, isOptional, name: rest?.replace(/IfExists$/, '') ?? '' }
}

/** As in IAM, `ForAllValues` holds for a request without a value for the key. */
function holds(operator: string, given: readonly string[] | undefined, wanted: readonly string[]): boolean {
  const { set, isOptional, name } = partsOf(operator)
  if (given === undefined) return isOptional || set === 'ForAllValues' || name in NEGATED
  const [match, negated] = [MATCHES[name], NEGATED[name]]
  const fits = (value: string) =>
    match ? wanted.some(one => match(value, one)) : wanted.every(one => negated?.(value, one))
  return set === 'ForAnyValue' ? given.some(fits) : given.every(fits)
}

function listOf(value: unknown): string[] {
  return [value].flat().map(String)
}
