import type { LucideIcon } from 'lucide-react'
import { type ComponentProps, type ReactNode, useState } from 'react'
import { readOnly, useStore } from '../api/store.ts'

/** What a reader presses and fills in. */

export type ButtonProps = Omit<ComponentProps<'button'>, 'children'> & {
  readonly look?: 'plain' | 'accent' | 'danger' | 'quiet'
  readonly icon?: LucideIcon | undefined
  readonly iconSize?: number
  /** A button without a text has an `aria-label`. */
  readonly text?: string | undefined
}

export function Button({ look = 'plain', icon: Icon, iconSize = 14, text, ...given }: ButtonProps) {
  return (
    <button type="button" className={`button ${look}`} {...given}>
      {Icon && <Icon size={iconSize} aria-hidden />}
      {text}
    </button>
  )
}

/** A button that opens a dialog. The dialog receives what closes it. */
export function Opener({
  dialog,
  ...button
}: ButtonProps & { readonly dialog: (close: () => void) => ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  )
}

type IconButtonProps = ComponentProps<'button'> & {
  readonly icon: LucideIcon
  readonly size?: number
  /** What it does, in words that a screen reader reads. */
  readonly label: string
}

export function IconButton({ icon: Icon, size = 14, label, children, ...given }: IconButtonProps) {
  return (
    <button type="button" className="icon-button" aria-label={label} {...given}>
      <Icon size={size} aria-hidden />
      {children}
    </button>
  )
}

/** A field of one line under its label. */
export function InputField({ label, ...input }: ComponentProps<'input'> & { readonly label: string }) {
  return (
    <label className="field">
      {label}
      <input {...input} />
    </label>
  )
}

/** Buttons that change something. A page that may only read does not have them. */
export function Acting({ children }: { readonly children: ReactNode }) {
  return useStore(readOnly) ? null : children
}

/** Whether a key is meant for the page: not for a field, a dialog or the browser. */
export function isForPage({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  const isField = target instanceof Element && target.closest('input, textarea, select, [contenteditable]')
  return !isField && !ctrlKey && !metaKey && !altKey && !document.querySelector('dialog[open]')
}
