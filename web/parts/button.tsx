import type { ComponentProps, ReactNode } from 'react'

type Look = 'plain' | 'accent' | 'danger' | 'quiet'

export function Button({
  look = 'plain',
  ...given
}: ComponentProps<'button'> & { readonly look?: Look; readonly children: ReactNode }) {
  return <button type="button" className={`button ${look}`} {...given} />
}
