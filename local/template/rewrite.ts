import { isRecord, soleEntry, splitOnce } from './intrinsics.ts'

/** What the names in a template are replaced by. */
export type References = {
  /** The expression for `Ref` of a resource, a parameter or a pseudo parameter. */
  ref(id: string): unknown
  /** The expression for `Fn::GetAtt`. */
  attribute(id: string, name: string): unknown
  condition(name: string): string
  mapping(name: string): string
}

/** Replaces every name in a template value. All other parts of the value stay as they are. */
export function rewrite(value: unknown, references: References): unknown {
  if (Array.isArray(value)) return value.map(entry => rewrite(entry, references))
  if (!isRecord(value)) return value
  const [name, argument] = soleEntry(value)
  const rule = name === undefined ? undefined : rules[name]
  if (rule) return rule(argument, references)
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, rewrite(entry, references)]))
}

const rules: Record<string, (argument: unknown, references: References) => unknown> = {
  Ref: (argument, references) => references.ref(String(argument)),
  Condition: (argument, references) => ({ Condition: references.condition(String(argument)) }),
  'Fn::GetAtt': (argument, references) => {
    const [id, name] = Array.isArray(argument) ? argument : splitOnce(String(argument), '.')
    return references.attribute(String(id), String(name))
  },
  'Fn::If': (argument, references) => {
    const [condition, ...values] = argument as [string, ...unknown[]]
    return { 'Fn::If': [references.condition(condition), ...values.map(value => rewrite(value, references))] }
  },
  'Fn::FindInMap': (argument, references) => {
    const [mapping, ...keys] = argument as unknown[]
    const named = typeof mapping === 'string' ? references.mapping(mapping) : rewrite(mapping, references)
    return { 'Fn::FindInMap': [named, ...keys.map(key => rewrite(key, references))] }
  },
  'Fn::Sub': substitution,
}

/** Keeps the text of an `Fn::Sub`. Each placeholder that is no variable of its own becomes one, with the new expression. */
function substitution(argument: unknown, references: References): unknown {
  const [text, own] = (Array.isArray(argument) ? argument : [argument, {}]) as [
    string,
    Record<string, unknown>,
  ]
  const variables = rewrite(own, references) as Record<string, unknown>
  const placeholders = [...text.matchAll(/\$\{([^}!][^}]*)\}/g)].map(([, name]) => String(name))
  const added = placeholders
    .filter(name => !(name in own))
    .map(name => [name, referenceOf(name, references)] as const)
  return { 'Fn::Sub': [text, { ...variables, ...Object.fromEntries(added) }] }
}

function referenceOf(placeholder: string, references: References): unknown {
  const [id, attribute] = splitOnce(placeholder, '.')
  return attribute === '' ? references.ref(id) : references.attribute(id, attribute)
}
