import { type FormEvent, useState } from 'react'
import type { ApiType, TypeBody } from '../../shared/api/types.ts'
import { baton } from '../api/baton.ts'
import { useAction } from '../parts/action.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { JsonField, jsonOf, jsonProblem } from '../parts/json-field.tsx'
import { configurationOf } from './configuration.ts'

/** Replaces the configuration of a type. The API says which field is wrong, and the text stays as it is. */
export function EditDialog({ type, onClose }: { readonly type: ApiType; readonly onClose: () => void }) {
  const [text, setText] = useState(() => JSON.stringify(configurationOf(type), undefined, 2))
  // That of the text: what another person changes meanwhile is not overwritten.
  const [revision] = useState(type.revision)
  const put = useAction({
    run: (body: TypeBody) => baton.putType(type.type, body),
    done: `${type.type} was changed`,
    changes: [['type', type.type], ['types']],
    after: onClose,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    put.mutate({ ...(jsonOf(text) as TypeBody), ifRevision: revision })
  }
  return (
    <Dialog title={`Edit ${type.type}`} look="wide" onClose={onClose}>
      <form onSubmit={submit}>
        <div className="dialog-body">
          <JsonField
            label="Configuration"
            text={text}
            onChange={setText}
            rows={18}
            hint="Changed defaults apply to tasks published afterwards; limits and ordering apply at once."
          />
        </div>
        <footer className="dialog-foot">
          <Button onClick={onClose}>Keep as it is</Button>
          <Button
            look="accent"
            type="submit"
            disabled={put.isPending || jsonProblem(text) !== undefined || text.trim() === ''}
          >
            Save
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
