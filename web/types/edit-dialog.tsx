import { useState } from 'react'
import type { ApiType, TypeBody } from '../../shared/api/types.ts'
import { baton } from '../api/baton.ts'
import { queries, typeQuery } from '../api/queries.ts'
import { JsonDialog } from '../json/json-dialog.tsx'
import { useAction } from '../parts/action.ts'
import { configurationOf } from './configuration.ts'

/** Replaces the configuration of a type. */
export function EditDialog({ type, onClose }: { readonly type: ApiType; readonly onClose: () => void }) {
  // That of the text: what another person changes meanwhile is not overwritten.
  const [begun, setBegun] = useState(type)
  const put = useAction({
    run: (body: TypeBody) => baton.putType(type.type, { ...body, ifRevision: begun.revision }),
    done: `${type.type} was changed`,
    changes: [['type', type.type], ['types'], ['limits', type.type]],
    after: onClose,
  })
  const startOver = async () => {
    setBegun(await queries.fetchQuery({ ...typeQuery(type.type), staleTime: 0 }))
    put.reset()
  }
  return (
    <JsonDialog
      key={begun.revision}
      stale={{ error: put.error, onStartOver: startOver }}
      title={`Edit ${type.type}`}
      label="Configuration"
      value={configurationOf(begun)}
      hint="Changed defaults apply to tasks published afterwards; limits and ordering apply at once."
      isSending={put.isPending}
      onSave={put.mutate}
      onClose={onClose}
    />
  )
}
