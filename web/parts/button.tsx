import type { ComponentProps, ReactNode } from 'react'
import { readOnly } from '../api/connection.ts'
import { useStore } from '../api/store.ts'

type Look = 'plain' | 'accent' | 'danger' | 'quiet'

export function Button({
  look = 'plain',
  ...given
}: ComponentProps<'button'> & { readonly look?: Look; readonly children: ReactNode }) {
  return <button type="button" className={`button ${look}`} {...given} />
}

/** Buttons that change something. A page that may only read does not have them. */
export function Acting({ children }: { readonly children: ReactNode }) {
  return useStore(readOnly) ? null : children
}
