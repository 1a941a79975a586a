"""The words `classify` looks for, by language. Data only: a missing language is added here.

HEADINGS and TITLES are compared with whole lines, the phrases are looked for anywhere in the
casefolded text, between word boundaries where they begin and end in letters of an alphabet.
"""

import re
from typing import Final

HEADINGS: Final = (
    # en
    "work experience|professional experience|experience|employment history|employment|career history|"
    "education|skills|technical skills|languages|certificates|certifications|projects|publications|"
    "profile|summary|professional summary|objective|interests|hobbies|references|awards|honors|honours|"
    "volunteering|personal details|personal information|work history|achievements|key skills|training|"
    # de
    "berufserfahrung|beruflicher werdegang|werdegang|lebenslauf|ausbildung|bildungsweg|schulbildung|studium|"
    "kenntnisse|fähigkeiten|sprachen|sprachkenntnisse|kurzprofil|persönliche daten|weiterbildung|praktika|"
    "interessen|edv-kenntnisse|kontakt|zeugnisse|"
    # fr
    "expérience|expériences|expérience professionnelle|expériences professionnelles|formation|formations|compétences|langues|profil|"
    "centres d'intérêt|centres d’intérêt|loisirs|diplômes|coordonnées|"
    # es
    "experiencia|experiencia laboral|experiencia profesional|educación|formación|formación académica|"
    "habilidades|competencias|idiomas|perfil|perfil profesional|datos personales|certificaciones|"
    "certificados|intereses|estudios|conocimientos|contacto|"
    # pt
    "experiência|experiência profissional|formação|formação acadêmica|formação académica|educação|"
    "competências|idiomas|resumo|resumo profissional|dados pessoais|certificações|contato|"
    # it
    "esperienza|esperienza lavorativa|esperienze lavorative|esperienza professionale|istruzione|"
    "istruzione e formazione|formazione|competenze|lingue|profilo|dati personali|informazioni personali|"
    # nl
    "werkervaring|opleiding|opleidingen|vaardigheden|talen|profiel|persoonlijke gegevens|cursussen|"
    "persoonlijke kenmerken|"
    # tr
    "deneyim|iş deneyimi|iş tecrübesi|eğitim|eğitim bilgileri|beceriler|yetenekler|diller|yabancı dil|"
    "profil|özet|kişisel bilgiler|iletişim|sertifikalar|referanslar|"
    # pl, sv, da, no, fi, cs, ro, hu
    "doświadczenie|doświadczenie zawodowe|wykształcenie|umiejętności|języki|zainteresowania|"
    "arbetslivserfarenhet|erfarenhet|utbildning|språk|kunskaper|erhvervserfaring|arbejdserfaring|uddannelse|"
    "sprog|kompetencer|arbeidserfaring|utdanning|kompetanse|työkokemus|koulutus|kielitaito|"
    "pracovní zkušenosti|vzdělání|dovednosti|jazyky|experiență|experiență profesională|educație|"
    "competențe|limbi străine|munkatapasztalat|szakmai tapasztalat|tanulmányok|nyelvtudás|készségek|"
    # el, ru, uk
    "επαγγελματική εμπειρία|εργασιακή εμπειρία|εμπειρία|εκπαίδευση|εκπαίδευση και κατάρτιση|δεξιότητες|"
    "γλώσσες|προσωπικές πληροφορίες|προσωπικά στοιχεία|"
    "опыт работы|опыт|образование|навыки|ключевые навыки|языки|о себе|личные данные|"
    "досвід роботи|досвід|освіта|навички|мови|"
    # ar, fa, he
    "الخبرة|الخبرات|الخبرة العملية|الخبرات العملية|الخبرة المهنية|التعليم|المؤهلات|المؤهلات العلمية|المهارات|"
    "اللغات|الملخص المهني|الملخص|نبذة|معلومات شخصية|البيانات الشخصية|معلومات الاتصال|الاتصال|السيرة الذاتية|"
    "الدورات|الشهادات|سوابق شغلی|تحصیلات|مهارت‌ها|מידע אישי|ניסיון תעסוקתי|ניסיון|ניסיון מקצועי|השכלה|שפות|"
    "כישורים|תמצית|פרטים אישיים|פרופיל|שירות צבאי|"
    # zh, ja, ko, hi, th, vi, id
    "工作经历|工作经验|教育背景|教育经历|专业技能|技能|语言能力|个人信息|个人简介|自我评价|联系方式|项目经验|"
    "項目經驗|工作經歷|工作經驗|教育背景|學歷|專業技能|語言能力|個人資料|职业经历|职业概述|证书|"
    "職務経歴|職歴|学歴|資格|スキル|自己pr|語学|経歴|経力|경력|학력|기술|자격증|자기소개|언어|"
    "कार्य अनुभव|शिक्षा|कौशल|ประสบการณ์ทำงาน|การศึกษา|ทักษะ|"
    "kinh nghiệm làm việc|học vấn|kỹ năng|pengalaman kerja|pendidikan|keahlian"
)
"""Section headings of CVs, separated by bars."""

TITLES: Final = (
    "curriculum vitae|curriculum vitæ|résumé|resume|cv|lebenslauf|currículum|curriculum|currículo|currículum vitae|"
    "özgeçmiş|السيرة الذاتية|سيرة ذاتية|קורות חיים|简历|個人簡歷|个人简历|履歴書|職務経歴書|이력서|резюме|βιογραφικό|"
    "βιογραφικό σημείωμα|europass|europass curriculum vitae|życiorys|životopis"
)
"""What CVs call themselves, at the start or the end of a line."""

SALUTATION = re.compile(
    r"(?im)^\W*(?:dear\b|to whom it may concern|sehr geehrte|liebe[rs]?\s|guten tag|madame|monsieur|"
    r"estimad[oa]s?|muy señor|prezad[oa]s?|car[oa]s?\s|egregi|gentil[ei]|spett|geachte|beste\s|sayın|"
    r"szanown|уважаем|السادة|السيد|تحية طيبة|尊敬的|拝啓|לכבוד|αγαπητ|kära|hej\s)"
)
CLOSING = re.compile(
    r"(?im)^\W*(?:yours (?:faithfully|sincerely|truly)|(?:kind|best|warm) regards|sincerely|respectfully|"
    r"mit freundlichen grüßen|freundliche grüße|mit besten grüßen|cordialement|veuillez agréer|"
    r"je vous prie|atentamente|saludos|un cordial saludo|atenciosamente|cordialmente|com os melhores|"
    r"cordiali saluti|distinti saluti|met vriendelijke groet|hoogachtend|saygılarımla|z poważaniem|"
    r"с уважением|مع خالص|وتفضلوا|此致|敬具|בכבוד רב|με εκτίμηση|med vänlig)"
)

LETTER_PHRASES: Final = (
    "i am writing to|i would like to apply|to apply for|application for the|cover letter|hiring team|"
    "hiring manager|look forward to hearing|look forward to meeting|looking forward to|hiermit bewerbe|"
    "bewerbung als|bewerbung um|ihre stellenanzeige|über eine einladung|anschreiben|lettre de motivation|"
    "je me permets|votre entreprise|carta de presentación|me dirijo a|carta de apresentação|"
    "venho por meio|lettera di presentazione|lettera di motivazione|motivatiebrief|ön yazı|"
    "list motywacyjny|сопроводительное письмо|خطاب تقديم|求职信"
)
"""Cover letters."""

PAYSLIP_PHRASES: Final = (
    "payslip|pay slip|paystub|pay stub|salary slip|wage slip|earnings statement|gross|gross pay|net pay|"
    "net|tax|national insurance|paye|deductions|gehaltsabrechnung|lohnabrechnung|entgeltabrechnung|"
    "bruttolohn|nettolohn|lohnsteuer|steuerklasse|bulletin de paie|bulletin de salaire|salaire brut|"
    "salaire net|cotisations|nómina|salario bruto|salario neto|holerite|contracheque|salário bruto|"
    "salário líquido|inss|busta paga|salarisspecificatie|maaş bordrosu|工资单|薪资单|給与明細|급여명세서"
)
"""Payslips. Common words count only together with others."""

JOB_PHRASES: Final = (
    "about the role|about the job|about the position|about the team|about the company|we are looking for|"
    "we are seeking|we are hiring|is looking for|key responsibilities|your responsibilities|"
    "required qualifications|preferred qualifications|minimum qualifications|requirements|what you'll do|"
    "what you’ll do|what we offer|what you bring|you will|you have|nice to have|we offer|benefits|"
    "job summary|job description|equal opportunity employer|how to apply|apply now|salary range|"
    "ihre aufgaben|deine aufgaben|ihr profil|dein profil|wir bieten|wir suchen|stellenbeschreibung|"
    "vos missions|profil recherché|nous recherchons|nous offrons|descriptif du poste|buscamos|ofrecemos|"
    "requisitos|descripción del puesto|procuramos|oferecemos|descrição da vaga|cerchiamo|offriamo|"
    "wij zoeken|wij bieden|functieomschrijving|岗位职责|任职要求|职位描述|募集要項"
)
"""Job descriptions."""

CERTIFICATE_PHRASES: Final = (
    "this is to certify|hereby certify|hereby certifies|certificate of completion|"
    "certificate of attendance|certificate of achievement|has successfully completed|is hereby awarded|"
    "is hereby conferred|diploma supplement|transcript of records|letter of recommendation|arbeitszeugnis|"
    "hiermit wird bescheinigt|stets zu unserer|vollsten zufriedenheit|attestation de|certifie que|"
    "se certifica que|otorga el presente|certifica que|certificamos que|si certifica"
)
"""Certificates, diplomas, references."""
