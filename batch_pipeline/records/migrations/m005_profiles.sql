-- What the source said about a person, and where it said nothing what their newest CV says. Each value
-- comes with who said it: `source` or `cv`. Views only: no row of the source is ever written over.
CREATE VIEW person_latest_cv AS
SELECT DISTINCT ON (l.tenant, l.source_system, l.person_id)
    l.tenant, l.source_system, l.person_id, l.attachment_id, l.document_md5, a.source_created_at
FROM cv_link l
JOIN attachment a
    ON a.tenant = l.tenant AND a.source_system = l.source_system AND a.source_id = l.attachment_id
WHERE l.person_id IS NOT NULL
ORDER BY l.tenant, l.source_system, l.person_id, a.source_created_at DESC NULLS LAST, l.attachment_id DESC;

CREATE VIEW person_profile AS
SELECT
    p.tenant, p.source_system, p.source_id,
    coalesce(p.full_name, cv.full_name) AS full_name,
    CASE WHEN p.full_name IS NOT NULL THEN 'source' WHEN cv.full_name IS NOT NULL THEN 'cv' END AS full_name_from,
    coalesce(p.emails, cv.emails) AS emails,
    CASE WHEN p.emails IS NOT NULL THEN 'source' WHEN cv.emails IS NOT NULL THEN 'cv' END AS emails_from,
    coalesce(p.phones, cv.phones) AS phones,
    CASE WHEN p.phones IS NOT NULL THEN 'source' WHEN cv.phones IS NOT NULL THEN 'cv' END AS phones_from,
    coalesce(p.links, cv.links) AS links,
    CASE WHEN p.links IS NOT NULL THEN 'source' WHEN cv.links IS NOT NULL THEN 'cv' END AS links_from,
    coalesce(p.location, cv.location) AS location,
    CASE WHEN p.location IS NOT NULL THEN 'source' WHEN cv.location IS NOT NULL THEN 'cv' END AS location_from,
    cv.headline, cv.summary, cv.document_md5 AS cv_md5
FROM person p
LEFT JOIN LATERAL (
    SELECT
        c.md5 AS document_md5,
        nullif(c.json_resume #>> '{basics,name}', '') AS full_name,
        CASE WHEN c.json_resume #>> '{basics,email}' <> '' THEN jsonb_build_array(
            jsonb_build_object('raw', c.json_resume #>> '{basics,email}',
                'norm', lower(c.json_resume #>> '{basics,email}'))) END AS emails,
        CASE WHEN c.json_resume #>> '{basics,phone}' <> '' THEN jsonb_build_array(
            jsonb_build_object('raw', c.json_resume #>> '{basics,phone}')) END AS phones,
        CASE WHEN c.json_resume #>> '{basics,url}' <> '' THEN jsonb_build_array(
            c.json_resume #>> '{basics,url}') END AS links,
        nullif(concat_ws(', ', c.json_resume #>> '{basics,location,city}',
            c.json_resume #>> '{basics,location,region}',
            c.json_resume #>> '{basics,location,countryCode}'), '') AS location,
        nullif(c.json_resume #>> '{basics,label}', '') AS headline,
        nullif(c.json_resume #>> '{basics,summary}', '') AS summary
    FROM cv_link l
    JOIN attachment a
        ON a.tenant = l.tenant AND a.source_system = l.source_system AND a.source_id = l.attachment_id
    JOIN parsed_cv c ON c.tenant = l.tenant AND c.md5 = l.document_md5
    WHERE l.tenant = p.tenant AND l.source_system = p.source_system AND l.person_id = p.source_id
        AND p.erased_at IS NULL
    ORDER BY a.source_created_at DESC NULLS LAST, l.attachment_id DESC
    LIMIT 1
) cv ON true;
