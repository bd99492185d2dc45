import { Link } from '@tanstack/react-router'
import { createContext, useContext } from 'react'
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
      return <TaskNode leaf={graph.leaf} />
    case 'chain':
      return <Chain members={graph.members} />
    case 'group':
      return <Group members={graph.members} />
    case 'chord':
      return <Chord graph={graph} />
  }
}

function TaskNode({ leaf: { taskId, status } }: { readonly leaf: Leaf }) {
  const canvasId = useContext(CanvasId)
  return (
    <Link
      className="graph-task"
      data-tone={toneOf(status)}
      to="/tasks/$id"
      params={{ id: taskId }}
      search={{ canvasId }}
    >
      <Name>{taskId}</Name>
      <StatusBadge state={status} />
    </Link>
  )
}

function Chain({ members }: { readonly members: readonly Graph[] }) {
  return (
    <ol className="graph-chain">
      {members.map(member => (
        <li key={keyOf(member)}>
          <Node graph={member} />
        </li>
      ))}
    </ol>
  )
}

function Group({ members }: { readonly members: readonly Graph[] }) {
  const leaves = members.flatMap(member => (member.kind === 'task' ? [member.leaf] : []))
  if (leaves.length === members.length && leaves.length > CARDS_MAX) return <Crowd leaves={leaves} />
  return (
    <ul className="graph-group">
      {members.map(member => (
        <li key={keyOf(member)}>
          <Node graph={member} />
        </li>
      ))}
    </ul>
  )
}

function Crowd({ leaves }: { readonly leaves: readonly Leaf[] }) {
  const canvasId = useContext(CanvasId)
  return (
    <div className="members">
      {leaves.map(({ taskId, status }) => (
        <Link
          key={taskId}
          className="member"
          data-tone={toneOf(status)}
          title={`${visible(taskId)}: ${status}`}
          aria-label={`${visible(taskId)}: ${status}`}
          to="/tasks/$id"
          params={{ id: taskId }}
          search={{ canvasId }}
          preload={false}
        />
      ))}
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
      <li>
        <Node graph={graph.group} />
      </li>
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
