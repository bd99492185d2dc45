import { useEffect, useState } from 'react'
import { isForPage } from '../parts/keys.ts'

/** The row that the keys act on, and the rows that are selected. */
export function useSelection(ids: readonly string[], { open, show }: RowActions) {
  const [current, setCurrent] = useState(-1)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const toggle = (id: string) => setSelected(before => toggled(before, id))

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!isForPage(event)) return
      const step = STEPS[event.key]
      const id = ids[current]
      if (step !== undefined) go(step)
      else if (event.key === 'Escape') setSelected(new Set())
      else if (id !== undefined) act(event, id)
    }
    const go = (step: number) => {
      const next = Math.max(0, Math.min(ids.length - 1, current + step))
      setCurrent(next)
      show(next)
    }
    const act = ({ key, target }: KeyboardEvent, id: string) => {
      if (key === 'x') setSelected(before => toggled(before, id))
      if (key === 'Enter' && target === document.body) open(id)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [ids, current, open, show])

  return { current, selected, toggle, select: (all: readonly string[]) => setSelected(new Set(all)) }
}

type RowActions = {
  readonly open: (id: string) => void
  /** Scrolls to a row. */
  readonly show: (index: number) => void
}

const STEPS: Readonly<Record<string, number>> = { j: 1, k: -1 }

function toggled(before: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const after = new Set(before)
  if (!after.delete(id)) after.add(id)
  return after
}
