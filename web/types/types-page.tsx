import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { allActivityQuery, allCountsQuery, costQuery, typesQuery } from '../api/queries.ts'
import { Button } from '../parts/button.tsx'
import { Empty, Failure, Loading } from '../parts/notes.tsx'
import { Page } from '../parts/page.tsx'
import { PublishDialog } from '../publish/publish-dialog.tsx'
import { TypesTable } from './types-table.tsx'

/** All task types. */
export function TypesPage() {
  const types = useQuery(typesQuery)
  const counts = useQuery(allCountsQuery)
  const activity = useQuery(allActivityQuery)
  const cost = useQuery(costQuery)
  const [isPublishing, setPublishing] = useState(false)
  const failed = [types, counts, activity, cost].find(({ error, data }) => error && !data)
  const isWhole = types.data && counts.data && activity.data && cost.data !== undefined
  return (
    <Page
      title="Types"
      actions={
        <Button look="accent" onClick={() => setPublishing(true)}>
          <Plus size={15} aria-hidden /> Publish a task
        </Button>
      }
    >
      {isWhole && types.data.length === 0 && <Empty title="There are no task types yet" />}
      {isWhole && types.data.length > 0 && (
        <TypesTable
          types={types.data}
          counts={new Map(counts.data.map(one => [one.type, one.counts]))}
          activity={activity.data}
          cost={cost.data ?? undefined}
        />
      )}
      {failed && <Failure error={failed.error} onRetry={failed.refetch} />}
      {!failed && !isWhole && <Loading rows={10} />}
      {isPublishing && <PublishDialog onClose={() => setPublishing(false)} />}
    </Page>
  )
}
