import { opsRoute } from '../../../server/ops/ops-route.ts';

export const dynamic = 'force-dynamic';

export {
  opsRoute as GET,
  opsRoute as POST,
  opsRoute as PUT,
  opsRoute as PATCH,
  opsRoute as DELETE,
  opsRoute as OPTIONS,
};
