/** The search part of an address: texts, and lists of texts where a name repeats. It is read like the search part of the API's addresses. */

type Search = Readonly<Record<string, string | readonly string[] | undefined>>

export function parseSearch(text: string): Record<string, string | string[]> {
  const search: Record<string, string | string[]> = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const present = search[name]
    search[name] = present === undefined ? value : [present, value].flat()
  }
  return search
}

export function stringifySearch(search: Search): string {
  const pairs = Object.entries(search).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one): [string, string] => [name, String(one)]),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

/** A search parameter as text; undefined when it is missing or empty. */
export function oneOf(value: unknown): string | undefined {
  const one = Array.isArray(value) ? value[0] : value
  return typeof one === 'string' && one !== '' ? one : undefined
}

/** A search parameter as a list of texts. */
export function manyOf(value: unknown): string[] {
  return [value].flat().filter((one): one is string => typeof one === 'string' && one !== '')
}
