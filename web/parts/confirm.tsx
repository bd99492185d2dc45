import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'

/** Asks before something that cannot be taken back. The safe answer has the focus. */
export function Confirm({
  title,
  action,
  children,
  isDanger = false,
  isReady = true,
  onConfirm,
  onClose,
}: {
  readonly title: string
  /** The verb on the button, such as `Remove`. */
  readonly action: string
  readonly children: ReactNode
  readonly isDanger?: boolean
  readonly isReady?: boolean
  readonly onConfirm: () => void
  readonly onClose: () => void
}) {
  const confirm = () => {
    onClose()
    onConfirm()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="dialog-body">{children}</div>
      <footer className="dialog-foot">
        <Button onClick={onClose} autoFocus>
          Keep as it is
        </Button>
        <Button look={isDanger ? 'danger' : 'accent'} onClick={confirm} disabled={!isReady}>
          {action}
        </Button>
      </footer>
    </Dialog>
  )
}
