import { Link, type LinkProps } from '@tanstack/react-router'
import { createContext, type ReactNode, useContext } from 'react'
import { toneOf, visible } from '../parts/format.ts'
import { Name, StatusBadge } from '../parts/text.tsx'
import type { Graph, Leaf } from './graph.ts'

/** Groups of more tasks are drawn as small squares, one for each task, so that 10,000 remain usable. */
const CARDS_MAX = 8

type GraphProps = { readonly graph: Graph | undefined; readonly canvasId: string }

/** A canvas as a graph: chains go to the right, groups go down. */
export function GraphView({ graph, canvasId }: GraphProps) {
  if (!graph) return <p className="note soft">It has no tasks yet.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a reader without a mouse must be able to scroll it
    <section className="graph" aria-label="Graph of the canvas" tabIndex={0}>
      <CanvasId value={canvasId}>
        <Node graph={graph} />
      </CanvasId>
    </section>
  )
}

/** The canvas that the nodes belong to. It explains why a member is not published yet. */
const CanvasId = createContext('')

function Node({ graph }: { readonly graph: Graph }) {
  switch (graph.kind) {
    case 'task':
      return (
        <LeafLink leaf={graph.leaf} className="graph-task">
          <Name>{graph.leaf.taskId}</Name>
          <StatusBadge state={graph.leaf.status} />
        </LeafLink>
      )
    case 'chain':
      return (
        <ol className="graph-chain">
          <Members of={graph.members} />
        </ol>
      )
    case 'group':
      return <Group members={graph.members} />
    case 'chord':
      return <Chord graph={graph} />
  }
}

type LeafProps = Pick<LinkProps, 'preload'> & {
  readonly leaf: Leaf
  readonly className: string
  readonly title?: string
  readonly children?: ReactNode
}

function LeafLink({ leaf: { taskId, status }, ...link }: LeafProps) {
  const search = { canvasId: useContext(CanvasId) }
  return <Link data-tone={toneOf(status)} to="/tasks/$id" params={{ id: taskId }} search={search} {...link} />
}

function Members({ of }: { readonly of: readonly Graph[] }) {
  return of.map(member => (
    <li key={keyOf(member)}>
      <Node graph={member} />
    </li>
  ))
}

function Group({ members }: { readonly members: readonly Graph[] }) {
  const leaves = members.flatMap(member => (member.kind === 'task' ? [member.leaf] : []))
  if (leaves.length < members.length || leaves.length <= CARDS_MAX)
    return (
      <ul className="graph-group">
        <Members of={members} />
      </ul>
    )
  return (
    <div className="members">
      {leaves.map(leaf => {
        const title = `${visible(leaf.taskId)}: ${leaf.status}`
        const link = { title, 'aria-label': title, preload: false } as const
        return <LeafLink key={leaf.taskId} leaf={leaf} className="member" {...link} />
      })}
    </div>
  )
}

function Chord({ graph }: { readonly graph: Extract<Graph, { kind: 'chord' }> }) {
  const ends = [
    ['then', graph.callback],
    ['on error', graph.onError],
  ] as const
  return (
    <ol className="graph-chain">
      <Members of={[graph.group]} />
      <li>
        <ul className="graph-group">
          {ends.map(
            ([label, end]) =>
              end && (
                <li key={label}>
                  <span className="graph-label">{label}</span>
                  <Node graph={end} />
                </li>
              ),
          )}
        </ul>
      </li>
    </ol>
  )
}

/** The path of the first task below, which is unique among the members of one parent. */
function keyOf(graph: Graph): string {
  if (graph.kind === 'task') return graph.leaf.path
  const [first] = graph.kind === 'chord' ? [graph.group] : graph.members
  return first ? `${graph.kind} ${keyOf(first)}` : graph.kind
}
