import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LIFECYCLE, RUN_MOVES } from '../../shared/core/task/lifecycle.ts'

const page = readFileSync(resolve(import.meta.dirname, '../../docs/lifecycle.md'), 'utf8')
const [taskDiagram = '', runDiagram = ''] = [...page.matchAll(/```mermaid\n([\s\S]*?)```/g)].map(
  ([, text]) => text,
)
const [, taskText = '', runText = ''] = page.split(/^## /m)

/** How the diagrams write a key without a task, and a run before its claim. */
const NOTHING = '[*]'

describe('the diagrams of docs/lifecycle.md', () => {
  it('show every move of a task that the lifecycle allows, and no other', () => {
    const moves = Object.entries(LIFECYCLE).flatMap(([operation, moves]) =>
      moves.flatMap(({ from, to }) => from.flatMap(one => to.map(other => edge(one, other, operation)))),
    )

    expect(edgesOf(taskDiagram)).toEqual([...moves, edge('delayed', 'ready', '(time)')].sort())
  })

  it('show every move of a run, and no other', () => {
    const moves = Object.entries(RUN_MOVES).flatMap(([state, operations]) =>
      operations.map(operation => edge('running', state, operation)),
    )

    expect(edgesOf(runDiagram)).toEqual([...moves, edge('none', 'running', 'claim')].sort())
  })

  it.each([
    ['status of a task', taskDiagram, taskText],
    ['state of a run', runDiagram, runText],
  ])('are explained: each %s, and the process that moves it on', (_what, diagram, text) => {
    const drawn = edgesOf(diagram).flatMap(one => one.split(' : ')[0]?.split(' --> ') ?? [])
    const sentences = [...text.matchAll(/^- `(\w+)`: ./gm)]

    expect(sentences.map(([, state]) => state).sort()).toEqual(
      [...new Set(drawn)].filter(one => one !== NOTHING).sort(),
    )
  })
})

function edge(from: string, to: string, operation: string): string {
  return `${from === 'none' ? NOTHING : from} --> ${to === 'none' ? NOTHING : to} : ${operation}`
}

/** Every edge once for each of its operations; a line that is not an edge fails the test. */
function edgesOf(diagram: string): string[] {
  const [head, ...lines] = diagram.trim().split('\n')
  expect(head).toBe('stateDiagram-v2')
  return lines
    .flatMap(line => {
      const [, from, to, operations = ''] = /^\s*(\S+) --> (\S+) : (.+)$/.exec(line) ?? []
      expect([from, to], `not an edge: ${line}`).not.toContain(undefined)
      return operations.split(', ').map(operation => `${from} --> ${to} : ${operation}`)
    })
    .sort()
}
