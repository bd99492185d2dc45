import { useState } from 'react'
import type { ApiType, TypeBody } from '../../shared/api/types.ts'
import { baton } from '../api/baton.ts'
import { JsonDialog } from '../json/json-dialog.tsx'
import { useAction } from '../parts/action.ts'
import { configurationOf } from './configuration.ts'

/** Replaces the configuration of a type. */
export function EditDialog({ type, onClose }: { readonly type: ApiType; readonly onClose: () => void }) {
  // That of the text: what another person changes meanwhile is not overwritten.
  const [revision] = useState(type.revision)
  const put = useAction({
    run: (body: TypeBody) => baton.putType(type.type, { ...body, ifRevision: revision }),
    done: `${type.type} was changed`,
    changes: [['type', type.type], ['types'], ['limits', type.type]],
    after: onClose,
  })
  return (
    <JsonDialog
      title={`Edit ${type.type}`}
      label="Configuration"
      value={configurationOf(type)}
      hint="Changed defaults apply to tasks published afterwards; limits and ordering apply at once."
      isSending={put.isPending}
      onSave={put.mutate}
      onClose={onClose}
    />
  )
}
