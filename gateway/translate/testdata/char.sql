-- 1042
SELECT code FROM item WHERE code LIKE 'a_' OR code LIKE 'b%'
