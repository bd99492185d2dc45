import { Dialog } from '../parts/dialog.tsx'
import { PLACES } from './places.ts'

const KEYS: ReadonlyArray<readonly [string, string]> = [
  ['Ctrl K', 'open the palette'],
  ['/', 'search on this page'],
  ['j  k', 'next and previous row of a list'],
  ['x', 'select the row'],
  ['Enter', 'open the row'],
  ['?', 'show this'],
]

/** All keys of the dashboard. */
export function Help({ onClose }: { readonly onClose: () => void }) {
  const places = PLACES.map(({ key, name }) => [`g ${key}`, `go to ${name}`] as const)
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {[...KEYS, ...places].map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
