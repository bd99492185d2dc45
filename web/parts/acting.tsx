import type { ReactNode } from 'react'
import { readOnly } from '../api/connection.ts'
import { useStore } from '../api/store.ts'

/** Buttons that change something. A page that may only read does not have them. */
export function Acting({ children }: { readonly children: ReactNode }) {
  return useStore(readOnly) ? null : children
}
