import type { ApiCanvas } from '../../shared/api/canvases.ts'

/** The tree of a canvas, rebuilt from the paths of its tasks, such as `chain.0` and `chain.1.chord.group.3`. */

export type Leaf = ApiCanvas['items'][number]

export type Graph =
  | { readonly kind: 'task'; readonly leaf: Leaf }
  | { readonly kind: 'chain' | 'group'; readonly members: readonly Graph[] }
  | { readonly kind: 'chord'; readonly group: Graph; readonly callback?: Graph; readonly onError?: Graph }

type Branch = { readonly leaf?: Leaf; readonly children: Map<string, Branch> }

/** The graph of the tasks that are known so far; undefined when none is. */
export function graphOf(leaves: readonly Leaf[]): Graph | undefined {
  const root: Branch = { children: new Map() }
  for (const leaf of leaves) insert(root, leaf.path.split('.'), leaf)
  return graphIn(root)
}

function insert(branch: Branch, [name, ...rest]: readonly string[], leaf: Leaf): void {
  if (name === undefined) return
  const child = branch.children.get(name) ?? { children: new Map() }
  branch.children.set(name, rest.length === 0 ? { ...child, leaf } : child)
  insert(child, rest, leaf)
}

function graphIn(branch: Branch | undefined): Graph | undefined {
  if (!branch) return undefined
  if (branch.leaf) return { kind: 'task', leaf: branch.leaf }
  const chain = branch.children.get('chain')
  if (chain) return { kind: 'chain', members: membersOf(chain) }
  const group = branch.children.get('group')
  if (group) return { kind: 'group', members: membersOf(group) }
  const chord = branch.children.get('chord')
  return chord && chordIn(chord)
}

function chordIn({ children }: Branch): Graph {
  const group = children.get('group')
  const [callback, onError] = [graphIn(children.get('then')), graphIn(children.get('onError'))]
  return {
    kind: 'chord',
    group: { kind: 'group', members: group ? membersOf(group) : [] },
    ...(callback && { callback }),
    ...(onError && { onError }),
  }
}

function membersOf({ children }: Branch): Graph[] {
  const inOrder = [...children].sort(([a], [b]) => Number(a) - Number(b))
  return inOrder.flatMap(([, child]) => graphIn(child) ?? [])
}
